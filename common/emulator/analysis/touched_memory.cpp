#include "touched_memory.hpp"

#include "machine/block.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <utility>

namespace warpfold::analysis {

namespace {

using machine::AccessKind;
using machine::MemoryOrder;

constexpr std::uint64_t page_bytes = 4096, word_bits = 64;

// If a launch accesses more scattered places than this, the rest is kept by the page.
constexpr std::size_t most_exact = 1 << 15;

void add(std::vector<TouchedRange>& ranges, const TouchedRange& range) {
  if (ranges.empty() || ranges.back().touch != range.touch || range.begin < ranges.back().begin)
    return ranges.push_back(range);
  TouchedRange& last = ranges.back();
  const bool is_next = range.begin <= last.end;
  if (!is_next && (ranges.size() < most_exact || range.begin - last.end > page_bytes))
    return ranges.push_back(range);
  last.is_exact = last.is_exact && is_next;
  last.end = std::max(last.end, range.end);
}

Touch touch_of(const machine::Access& access) {
  if (access.kind == AccessKind::atomic) return Touch::strong_write;
  const bool strong = access.order != MemoryOrder::weak;
  if (access.kind == AccessKind::store) return strong ? Touch::strong_write : Touch::write;
  return strong ? Touch::strong_read : Touch::read;
}

} // namespace

TouchedMemory::TouchedMemory(const machine::AddressSpace& memory)
    : memory_(memory), base_(memory.base()), reserved_(memory.reserved()),
      seen_(reserved_ / page_bytes + 1), bytes_{Bits(reserved_ / word_bits + 1),
                                                Bits(reserved_ / word_bits + 1),
                                                Bits(reserved_ / word_bits + 1),
                                                Bits(reserved_ / word_bits + 1)} {}

void TouchedMemory::enter_page(std::uint64_t page) {
  if (seen_[page] || std::atomic_ref(seen_[page]).exchange(1, std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  pages_.push_back(page);
}

void TouchedMemory::note(std::uint64_t begin, std::uint64_t size, Touch touch) {
  if (begin < base_ || begin + size > base_ + reserved_) {
    std::lock_guard lock(mutex_);
    return add(elsewhere_, {begin, begin + size, touch});
  }
  std::uint64_t first = begin - base_;
  const std::uint64_t end = first + size;
  enter_page(first / page_bytes);
  enter_page((end - 1) / page_bytes);
  Bits& bits = bytes_[static_cast<unsigned>(touch)];
  while (first < end) {
    const std::uint64_t in_word = first % word_bits, count = std::min(end - first, word_bits - in_word);
    const std::uint64_t wanted = (count == word_bits ? ~0ull : (1ull << count) - 1) << in_word;
    std::uint64_t& word = bits[first / word_bits];
    if ((word & wanted) != wanted) std::atomic_ref(word).fetch_or(wanted, std::memory_order_relaxed);
    first += count;
  }
}

void TouchedMemory::access(const machine::Access& access) {
  if (access.space == ptx::Space::global) {
    const Touch touch = touch_of(access);
    if (access.contiguous && access.mask == machine::all_lanes) {
      note(access.first, std::uint64_t{machine::warp_lanes} * access.width, touch);
    } else {
      std::uint64_t last = 0; // lanes that use the same address are noted once
      for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
        const std::uint64_t address = access.addresses[std::countr_zero(mask)];
        if (address != last) note(address, access.width, touch);
        last = address;
      }
    }
  }
  next_->access(access);
}

bool TouchedMemory::row(const machine::RowAccess& access) {
  if (access.space == ptx::Space::global)
    note(access.first, std::uint64_t{machine::warp_lanes} * access.width,
         access.kind == AccessKind::store ? Touch::write : Touch::read);
  return next_->row(access);
}

// Appends the page's runs of bytes and clears them.
void TouchedMemory::take_page(std::uint64_t page, unsigned touch, std::vector<TouchedRange>& ranges) {
  constexpr std::uint64_t words = page_bytes / word_bits;
  Bits& bits = bytes_[touch];
  for (std::uint64_t index = page * words; index < (page + 1) * words; ++index) {
    std::uint64_t word = std::as_const(bits)[index];
    if (!word) continue;
    bits[index] = 0;
    while (word) {
      const auto begin = static_cast<unsigned>(std::countr_zero(word));
      const auto count = static_cast<unsigned>(std::countr_one(word >> begin));
      const std::uint64_t address = base_ + index * word_bits + begin;
      add(ranges, {address, address + count, static_cast<Touch>(touch)});
      word &= begin + count == word_bits ? 0 : ~0ull << (begin + count);
    }
  }
}

std::vector<TouchedRange> TouchedMemory::take() {
  std::lock_guard lock(mutex_);
  std::sort(pages_.begin(), pages_.end());
  std::vector<TouchedRange> found = std::move(elsewhere_), ranges;
  elsewhere_.clear();
  for (unsigned touch = 0; touch < touches; ++touch)
    for (const std::uint64_t page : pages_) take_page(page, touch, found);
  for (const std::uint64_t page : pages_) seen_[page] = 0;
  pages_.clear();
  // Accesses outside of all allocations were refused and never happened.
  std::sort(found.begin(), found.end(),
            [](const TouchedRange& a, const TouchedRange& b) { return a.begin < b.begin; });
  std::optional<machine::Allocation> last;
  for (TouchedRange& range : found) {
    if (!last || range.begin >= last->end()) last = memory_.find(range.begin);
    if (!last || range.begin < last->begin) continue;
    range.end = std::min(range.end, last->end());
    ranges.push_back(range);
  }
  return ranges;
}

} // namespace warpfold::analysis
