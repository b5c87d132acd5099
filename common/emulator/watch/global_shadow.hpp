// What the race check remembers about device memory.
#pragma once

#include "access_records.hpp"
#include "lazy_array.hpp"
#include "machine/address_space.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace warpfold::watch {

// For each word of device memory that was accessed: the last access (a write, if there was one) and the
// readers since that write.
//
// Most accesses are by a whole warp to whole rows of 32 words. A row that has seen no other kind has one cell
// for all of its words, and a second for another reader: the record, and the lane of its first word (the
// record's width gives the others'). Any other access first splits the row into a cell per word. A word has a
// cell for the last write (or, if there was none, the first reader), and one for another reader; anything
// more is in lists. So a byte of memory takes 1/16 byte of shadow memory, 1 byte more in rows that are split,
// and another if words have additional readers.
class GlobalShadow {
public:
  static constexpr unsigned row_words = 32, word_bytes = 4, row_bytes = row_words * word_bytes;
  static constexpr Cell wrote = first_flag;
  static constexpr Cell strong = second_flag;   // no race with others of its kind, wherever they are
  static constexpr Cell has_more = second_flag; // in a reader's cell: the word has a list

  explicit GlobalShadow(const machine::AddressSpace& memory)
      : base_(memory.base()), bytes_(memory.reserved()), row_last_(rows()), row_read_(rows()),
        last_(rows() * row_words), read_(rows() * row_words), wrote_too_(rows() * row_words),
        more_(rows() * row_words) {}
  bool holds(std::uint64_t address, std::uint64_t size) const {
    return address >= base_ && address + size <= base_ + bytes_;
  }
  std::uint64_t word_of(std::uint64_t address) const { return (address - base_) / word_bytes; }
  bool begins_row(std::uint64_t address) const { return (address - base_) % row_bytes == 0; }
  void begin_launch(bool clear); // `clear`: cells of earlier launches could be mistaken for this launch's

  // Enters an access to the whole row if nothing before it in this launch can conflict with it. Cells less
  // than `oldest` belong to an earlier launch; `cell` is the record and the lane of the first word. Of
  // several readers, two are kept; replaces(Cell) tells whether the new one can stand for that one,
  // is_other(Cell, Cell) whether two are of different blocks.
  template <typename Replaces, typename IsOther>
  bool enter_row(std::uint64_t word, bool store, Cell cell, Cell oldest, bool keeps_many, Replaces replaces,
                 IsOther is_other) {
    Cell& place = row_last_[word / row_words];
    Cell last = seen(place);
    while (last < oldest)
      if (replace(place, last, cell | (store ? wrote : 0))) return true;
    if (store || last & wrote || lane_of(last) == split_lane) return false;
    if (number_of(last) == number_of(cell)) return true;
    if (replaces(last)) {
      place = cell;
      return true;
    }
    Cell& second = row_read_[word / row_words];
    const Cell too = seen(second);
    if (too < oldest || number_of(too) == number_of(cell) || replaces(too) || !is_other(last, too)) {
      second = cell;
      return true;
    }
    return !keeps_many;
  }
  // Splits the row into words unless it is split already. `records` gives the width of the row's access.
  void split(std::uint64_t word, const GlobalRecords& records, Cell oldest);
  // The word's last write if its row was written as a whole and has had no other write since, else 0. Reading
  // from such a row does not require splitting it.
  Cell whole_write(std::uint64_t word, const GlobalRecords& records, Cell oldest) const {
    const Cell whole = row_last_[word / row_words];
    if (whole < oldest || !(whole & wrote) || lane_of(whole) == split_lane) return 0;
    const unsigned words_a_lane = records[number_of(whole)].width / word_bytes;
    return whole + static_cast<Cell>(word % row_words / words_a_lane);
  }
  Cell& last(std::uint64_t word) { return last_[word]; }
  Cell& read(std::uint64_t word) { return read_[word]; }
  // A strong write besides the last write, if that is strong too.
  Cell& wrote_too(std::uint64_t word) { return wrote_too_[word]; }

  // The current content of a cell, which other workers may be changing.
  static Cell seen(Cell& place) { return std::atomic_ref(place).load(std::memory_order_relaxed); }

  // Replaces the cell's content with `cell` if it is still `seen`; otherwise sets `seen` to the current
  // content.
  static bool replace(Cell& place, Cell& seen, Cell cell) {
    return seen == cell || std::atomic_ref(place).compare_exchange_strong(seen, cell);
  }

  // The list of a word; read() has the flag has_more if there is one. change(std::vector<Cell>&) may change
  // it in any way; true if it is not empty afterwards. If there is none, one is made if `may_make`.
  static constexpr std::size_t longest = 8; // a list should not be longer
  template <typename Change>
  bool change_list(std::uint64_t word, bool may_make, Change change) {
    std::lock_guard lock(locks_[word % lock_count]);
    Lists& lists = lists_[word % lock_count];
    std::uint32_t& number = more_[word];
    if (number == 0) {
      if (!may_make || !lists.make(number)) return false;
      used_ = true;
    }
    std::vector<Cell>& list = lists.all[number - 1];
    change(list);
    if (!list.empty()) return true;
    lists.free.push_back(number);
    number = 0;
    return false;
  }

private:
  std::uint64_t rows() const { return bytes_ / row_bytes + 1; }
  static constexpr unsigned split_lane = 31; // in a row's cell: its words have cells of their own
  static constexpr std::size_t lock_count = 256, most_lists = 1u << 20;
  std::uint64_t base_, bytes_;
  LazyArray<Cell> row_last_, row_read_, last_, read_, wrote_too_;
  LazyArray<std::uint32_t> more_; // the number of the word's list among those of its lock; 0: none
  struct Lists {
    std::deque<std::vector<Cell>> all;
    std::vector<std::uint32_t> free; // numbers, from 1
    bool make(std::uint32_t& number) {
      if (free.empty() && all.size() >= most_lists / lock_count) return false;
      if (free.empty()) {
        all.emplace_back();
        free.push_back(static_cast<std::uint32_t>(all.size()));
      }
      number = free.back();
      free.pop_back();
      return true;
    }
  };
  std::vector<Lists> lists_{lock_count};
  std::vector<std::mutex> locks_{lock_count};
  std::atomic<bool> used_{false};
};

} // namespace warpfold::watch
