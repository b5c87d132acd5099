// Data races: two threads access a word, one of them writes, and nothing orders the two (CUDA Programming
// Guide, "Memory Consistency Model"; PTX ISA 8). Found by what did happen in this run, whichever way it went.
#pragma once

#include "happens_before.hpp"
#include "lazy_array.hpp"
#include "machine/block.hpp"

#include <cstdint>
#include <vector>

namespace warpfold::watch {

// The last write and two readers since, of each word of a block's shared memory. A word that nobody has
// written is 0.
struct SharedShadow {
  std::vector<Cell> wrote, read, read_too;
  void reset(std::size_t words) {
    constexpr std::size_t slack = machine::warp_lanes; // a row may begin at the last word
    wrote.assign(words + slack, 0);
    read.resize(words + slack); // what a block before has left there is older than any floor to come
    read_too.resize(words + slack);
    count = words;
  }
  std::size_t count = 0; // words
};

// The last write and one reader since, of each word of the device's memory: 2 bytes a byte, where it was
// touched.
//
// Most accesses are by a whole warp to whole rows of 32 words. A row that knows no other kind has one cell
// for all of its words: the origin, and the lane of its first word (the origin's width tells the others').
// Another access makes cells of its words first.
class GlobalShadow {
public:
  static constexpr unsigned row_words = 32, word_bytes = 4, row_bytes = row_words * word_bytes;

  explicit GlobalShadow(const machine::AddressSpace& memory)
      : base_(memory.base()), bytes_(memory.reserved()), row_wrote_(rows()), row_read_(rows()),
        row_split_(rows()), wrote_(rows() * row_words), read_(rows() * row_words) {}
  bool holds(std::uint64_t address, std::uint64_t size) const {
    return address >= base_ && address + size <= base_ + bytes_;
  }
  std::uint64_t word_of(std::uint64_t address) const { return (address - base_) / word_bytes; }
  bool begins_row(std::uint64_t address) const { return (address - base_) % row_bytes == 0; }
  void clear();

  // Enters an access to the whole row if nothing before it in this launch can conflict with it. `oldest`:
  // what is older is of an earlier launch; `cell`: origin and lane of the first word.
  bool enter_row(std::uint64_t word, bool store, Cell cell, Cell oldest);
  // Splits the row into words, if it is not yet. `width` of an origin, in bytes: from `origins`.
  void split(std::uint64_t word, const Origins& origins, Cell oldest);
  Cell& wrote(std::uint64_t word) { return wrote_[word]; }
  Cell& read(std::uint64_t word) { return read_[word]; }

private:
  std::uint64_t rows() const { return bytes_ / row_bytes + 1; }
  std::uint64_t base_, bytes_;
  LazyArray<Cell> row_wrote_, row_read_, row_split_; // split: in which launch, as its oldest cell
  LazyArray<Cell> wrote_, read_;
};

// Two accesses that nothing orders.
struct Conflict {
  Cell earlier = 0;
  unsigned lane = 0;         // of the later one
  std::uint64_t address = 0; // of the word
  bool earlier_wrote = false;
  bool unfenced = false; // published without a fence
};

// What is known of the block that accesses.
struct Accessor {
  const machine::Access& access;
  const Origins& origins;
  const BlockHistories& histories;
  const BlockOrder& order;
  std::uint32_t origin; // of this access
};

// Checks an access against the shadow, enters it, and calls report(Conflict) for each race found; for a load
// from shared memory that nobody has written, unwritten(lane, address).
template <typename Report, typename Unwritten>
void check_shared(SharedShadow& shadow, const Accessor& accessor, Report report, Unwritten unwritten);
template <typename Report>
void check_global(GlobalShadow& shadow, const Accessor& accessor, Report report);

} // namespace warpfold::watch

#include "races.inl"
