#include "initialisation.hpp"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>

namespace warpfold::analysis {

namespace {

constexpr unsigned row_bytes = 128;

// Cuts [first, first + count) at multiples of `size` and calls visit(unit, begin, count) for each piece;
// `begin` is relative to the start of its unit. Stops as soon as visit returns false, and then returns false.
template <typename Visit>
bool each_part(std::uint64_t first, std::uint64_t count, unsigned size, Visit visit) {
  while (count) {
    std::uint64_t begin = first % size, here = std::min<std::uint64_t>(count, size - begin);
    if (!visit(first / size, begin, here)) return false;
    first += here;
    count -= here;
  }
  return true;
}

std::uint64_t mask(std::uint64_t begin, std::uint64_t count) {
  return (count == 64 ? ~0ull : (1ull << count) - 1) << begin;
}

} // namespace

void LazyBits::set(std::uint64_t first, std::uint64_t count) {
  each_part(first, count, 64, [&](std::uint64_t word, std::uint64_t begin, std::uint64_t bits) {
    const std::uint64_t wanted = mask(begin, bits);
    if ((words_[word] & wanted) != wanted)
      std::atomic_ref(words_[word]).fetch_or(wanted, std::memory_order_relaxed);
    return true;
  });
}

void LazyBits::clear(std::uint64_t first, std::uint64_t count) {
  // Much of a large range may never have been touched. Whole pages, which are at most 64 KiB, are given back
  // instead of being read.
  constexpr std::uint64_t bits_of_page = 65536 * 8;
  if (count > 4 * bits_of_page) {
    const std::uint64_t begin = (first + bits_of_page - 1) / bits_of_page * bits_of_page;
    const std::uint64_t end = (first + count) / bits_of_page * bits_of_page;
    words_.clear(begin / 64, (end - begin) / 64);
    clear(first, begin - first);
    clear(end, first + count - end);
    return;
  }
  each_part(first, count, 64, [&](std::uint64_t word, std::uint64_t begin, std::uint64_t bits) {
    const std::uint64_t unwanted = mask(begin, bits);
    if (words_[word] & unwanted)
      std::atomic_ref(words_[word]).fetch_and(~unwanted, std::memory_order_relaxed);
    return true;
  });
}

bool LazyBits::all(std::uint64_t first, std::uint64_t count) const {
  return each_part(first, count, 64, [&](std::uint64_t word, std::uint64_t begin, std::uint64_t bits) {
    const std::uint64_t wanted = mask(begin, bits);
    return (words_[word] & wanted) == wanted;
  });
}

WrittenMemory::WrittenMemory(const machine::AddressSpace& memory)
    : base_(memory.base()), reserved_(memory.reserved()), fresh_(memory.reserved() / row_bytes + 1),
      bytes_(memory.reserved()) {}

void WrittenMemory::allocated(std::uint64_t begin, std::uint64_t size) {
  if (!inside(begin, size) || size == 0) return;
  const std::uint64_t first = begin - base_, row = first / row_bytes;
  bytes_.clear(first, size);
  fresh_.set(row, (first + size - 1) / row_bytes - row + 1);
}

void WrittenMemory::written(std::uint64_t begin, std::uint64_t size) {
  if (!inside(begin, size)) return;
  const std::uint64_t first = begin - base_, end = first + size;
  const std::uint64_t rows = std::min(end, (first + row_bytes - 1) / row_bytes * row_bytes),
                      rows_end = std::max(rows, end / row_bytes * row_bytes);
  auto part_of_row = [&](std::uint64_t from, std::uint64_t to) {
    if (from < to && fresh_[from / row_bytes]) bytes_.set(from, to - from);
  };
  part_of_row(first, rows);
  fresh_.clear(rows / row_bytes, (rows_end - rows) / row_bytes);
  part_of_row(rows_end, end);
}

bool WrittenMemory::is_written(std::uint64_t begin, std::uint64_t size) const {
  if (!inside(begin, size)) return true;
  return each_part(begin - base_, size, row_bytes,
                   [&](std::uint64_t row, std::uint64_t offset, std::uint64_t count) {
                     return !fresh_[row] || bytes_.all(row * row_bytes + offset, count);
                   });
}

std::uint64_t WrittenMemory::unwritten(std::uint64_t begin, std::uint64_t size) const {
  if (!inside(begin, size)) return 0;
  std::uint64_t found = 0;
  each_part(begin - base_, size, row_bytes,
            [&](std::uint64_t row, std::uint64_t offset, std::uint64_t count) {
              if (!fresh_[row]) return true;
              for (std::uint64_t i = offset; i < offset + count; ++i) found += !bytes_[row * row_bytes + i];
              return true;
            });
  return found;
}

std::string WrittenMemory::in_words(std::uint64_t begin, std::uint64_t elements, unsigned width) const {
  std::uint64_t count = 0, first = 0, last = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    if (!is_written(begin + i * width, width)) continue;
    if (count++ == 0) first = i;
    last = i;
  }
  if (count == 0) {
    const std::uint64_t written = elements * width - unwritten(begin, elements * width);
    return written == 0 ? "nothing in it has been"
                        : fmt::format("{} of the {} bytes there have been, but no whole element", written,
                                      elements * width);
  }
  const std::string those = count == 1                  ? fmt::format("element {}", first)
                            : last - first + 1 == count ? fmt::format("elements {} to {}", first, last)
                                                        : fmt::format("{}", count);
  return fmt::format("of the {} elements there, only {} {} been", elements, those,
                     count == 1 ? "has" : "have");
}

} // namespace warpfold::analysis
