// Data races: two threads access a word, one of them writes, and nothing orders the two (CUDA Programming
// Guide, "Memory Consistency Model"; PTX ISA 8). A race is found in any run in which both accesses happen,
// whichever came first.
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
  void reset(std::size_t words, bool forget_readers) {
    constexpr std::size_t slack = machine::warp_lanes; // a row may begin at the last word
    wrote.assign(words + slack, 0);
    if (forget_readers) read.clear(), read_too.clear();
    read.resize(words + slack); // what an earlier block has left there is older than any floor to come
    read_too.resize(words + slack);
    count = words;
  }
  std::size_t count = 0; // words
};

// The last access of each word of the device's memory, a write if there was one, and one reader since that
// write, where it was touched.
//
// Most accesses are by a whole warp to whole rows of 32 words. A row that has seen no other kind has one cell
// for all of its words: the record, and the lane of its first word (the record's width gives the others').
// Any other access first splits the row into a cell per word. Two neighbouring words share one cell for their
// reader after a write; the first reader is kept. So a byte of memory takes 1/32 byte of shadow, 1 byte more
// in rows that are split, and 1/2 byte more where words are written and then read by other threads.
class GlobalShadow {
public:
  static constexpr unsigned row_words = 32, word_bytes = 4, row_bytes = row_words * word_bytes;
  static constexpr unsigned reader_words = 2;
  static constexpr Cell wrote = first_flag, strong = second_flag; // strong: what AccessRecord::is_strong says

  explicit GlobalShadow(const machine::AddressSpace& memory)
      : base_(memory.base()), bytes_(memory.reserved()), row_last_(rows()), last_(rows() * row_words),
        reader_(rows() * row_words / reader_words) {}
  bool holds(std::uint64_t address, std::uint64_t size) const {
    return address >= base_ && address + size <= base_ + bytes_;
  }
  std::uint64_t word_of(std::uint64_t address) const { return (address - base_) / word_bytes; }
  bool begins_row(std::uint64_t address) const { return (address - base_) % row_bytes == 0; }
  void clear();

  // Enters an access to the whole row if nothing before it in this launch can conflict with it. Cells less
  // than `oldest` are of an earlier launch; `cell` is the record and lane of the first word.
  bool enter_row(std::uint64_t word, bool store, Cell cell, Cell oldest);
  // Splits the row into words unless it is split already. `records` gives the width of the row's access.
  void split(std::uint64_t word, const GlobalRecords& records, Cell oldest);
  Cell& last(std::uint64_t word) { return last_[word]; }
  // The reader since the last write; 0 where that is not known. A write forgets it.
  Cell reader(std::uint64_t word) const {
    Cell kept = reader_[word / reader_words];
    return static_cast<bool>(kept & of_second) == is_second(word) ? kept & ~of_second : 0;
  }
  // The cell is kept for this word or its neighbour.
  Cell kept_reader(std::uint64_t word) const { return reader_[word / reader_words] & ~of_second; }
  void keep_reader(std::uint64_t word, Cell cell) {
    reader_[word / reader_words] = cell | (is_second(word) ? of_second : 0);
  }
  void forget_reader(std::uint64_t word) {
    if (reader(word)) reader_[word / reader_words] = 0;
  }

private:
  std::uint64_t rows() const { return bytes_ / row_bytes + 1; }
  static bool is_second(std::uint64_t word) { return word % reader_words; }
  std::uint64_t base_, bytes_;
  static constexpr Cell of_second = first_flag; // set in a reader's cell: it belongs to the second word
  LazyArray<Cell> row_last_, last_, reader_;
};

// Two accesses that nothing orders.
struct Conflict {
  const AccessRecord& earlier;
  unsigned earlier_lane = 0, lane = 0;
  std::uint64_t address = 0; // of the word
  bool earlier_wrote = false;
  bool unfenced = false; // published without a fence
};

// What is known of the block that accesses.
struct Accessor {
  const machine::Access& access;
  const BlockHistories& histories;
  const BlockOrder& order;
  std::uint32_t number; // of this access's record
};

// Checks an access against the shadow, enters it, and calls report(Conflict) for each race found; for a load
// from shared memory that nobody has written, unwritten(lane, address).
template <typename Report, typename Unwritten>
void check_shared(SharedShadow& shadow, const BlockRecords& records, const Accessor& accessor, Report report,
                  Unwritten unwritten);
template <typename Report>
void check_global(GlobalShadow& shadow, const GlobalRecords& records, const Accessor& accessor,
                  Report report);

} // namespace warpfold::watch

#include "races.inl"
