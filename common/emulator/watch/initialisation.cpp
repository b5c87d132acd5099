#include "initialisation.hpp"

#include <algorithm>
#include <atomic>

namespace warpfold::watch {

namespace {

constexpr unsigned word_bits = 64;

// Calls visit(word, mask) for the words that [first, first + count) reaches into.
template <typename Visit>
bool each_word(std::uint64_t first, std::uint64_t count, Visit visit) {
  while (count) {
    std::uint64_t bit = first % word_bits, here = std::min<std::uint64_t>(count, word_bits - bit);
    std::uint64_t mask = (here == word_bits ? ~0ull : (1ull << here) - 1) << bit;
    if (!visit(first / word_bits, mask)) return false;
    first += here;
    count -= here;
  }
  return true;
}

} // namespace

void WrittenBits::set(std::uint64_t first, std::uint64_t count) {
  each_word(first, count, [&](std::uint64_t word, std::uint64_t mask) {
    if (mask == ~0ull)
      words_[word] = mask; // all of its bytes are of one allocation, and no other thread's
    else if ((words_[word] & mask) != mask)
      std::atomic_ref(words_[word]).fetch_or(mask, std::memory_order_relaxed);
    return true;
  });
}

void WrittenBits::clear(std::uint64_t first, std::uint64_t count) {
  each_word(first, count, [&](std::uint64_t word, std::uint64_t mask) {
    if (words_[word] & mask) std::atomic_ref(words_[word]).fetch_and(~mask, std::memory_order_relaxed);
    return true;
  });
}

bool WrittenBits::all(std::uint64_t first, std::uint64_t count) const {
  return each_word(first, count,
                   [&](std::uint64_t word, std::uint64_t mask) { return (words_[word] & mask) == mask; });
}

WrittenMemory::WrittenMemory(const machine::AddressSpace& memory)
    : base_(memory.base()), reserved_(memory.reserved()), unwritten_(memory.reserved() / word_bits + 1) {}

void WrittenMemory::allocated(std::uint64_t begin, std::uint64_t size) {
  if (inside(begin, size)) WrittenBits(unwritten_.data()).set(begin - base_, size);
}

void WrittenMemory::written(std::uint64_t begin, std::uint64_t size) {
  if (inside(begin, size)) WrittenBits(unwritten_.data()).clear(begin - base_, size);
}

bool WrittenMemory::is_written(std::uint64_t begin, std::uint64_t size) {
  if (!inside(begin, size)) return true;
  const std::uint64_t* words = unwritten_.data();
  return each_word(begin - base_, size,
                   [&](std::uint64_t word, std::uint64_t mask) { return (words[word] & mask) == 0; });
}

} // namespace warpfold::watch
