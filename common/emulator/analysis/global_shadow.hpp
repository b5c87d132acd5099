// What the race check remembers about device memory.
#pragma once

#include "access_records.hpp"
#include "machine/address_space.hpp"
#include "machine/lazy_array.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace warpfold::analysis {

// For each word of device memory that was accessed: the last access (a write, if there was one) and the
// readers since that write.
//
// Most accesses are by a whole warp to whole rows of 32 words. A row that has seen no other kind has one cell
// for all of its words, and a second for another reader: the record, and the lane of its first word (the
// record's width gives the others'). Any other access first splits the row into a cell per word, and an
// access to a part of a word splits the word into a cell per byte. A word or a byte, here called a place, has
// a cell for the last write (or, if there was none, the first reader), and one for another reader; anything
// more is in lists. So a byte of memory takes 1/16 byte of shadow memory, 1 byte more in rows that are split,
// another if words have additional readers, and four times as much in words that are split.
class GlobalShadow {
public:
  static constexpr unsigned row_words = 32, word_bytes = 4, row_bytes = row_words * word_bytes;
  static constexpr Cell wrote = first_flag;
  static constexpr Cell strong = second_flag;   // no race with others of its kind, wherever they are
  static constexpr Cell has_more = second_flag; // in a reader's cell: the word has a list

  explicit GlobalShadow(const machine::AddressSpace& memory)
      : GlobalShadow(memory.base(), memory.reserved()) {}
  GlobalShadow(std::uint64_t base, std::uint64_t bytes)
      : base_(base), bytes_(bytes), row_last_(rows()), row_read_(rows()), of_words_(rows() * row_words) {}
  bool holds(std::uint64_t address, std::uint64_t size) const {
    return address >= base_ && address + size <= base_ + bytes_;
  }
  std::uint64_t word_of(std::uint64_t address) const { return (address - base_) / word_bytes; }
  std::uint64_t byte_of(std::uint64_t address) const { return (address - base_) | is_byte; }
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
    for (Cell last = seen(place);;) {
      const bool known = last >= oldest;
      if (known && (store || last & wrote || lane_of(last) == split_lane)) return false;
      if (known && number_of(last) == number_of(cell)) return true;
      if (known && !replaces(last))
        return enter_second_reader(word, last, cell, oldest, keeps_many, replaces, is_other);
      if (replace(place, last, cell | (store ? wrote : 0))) return true;
    }
  }
  // Splits the row into words unless it is split already. `records` gives the width of the row's access.
  void split_row(std::uint64_t word, const GlobalRecords& records, Cell oldest);
  // Splits the word into bytes unless it is split already; its row is.
  void split_word(std::uint64_t word, Cell oldest);
  bool is_split(std::uint64_t word, Cell oldest) {
    return seen(of_words_.last[word]) == (oldest | split_lane);
  }
  // The word's last write if its row was written as a whole and has had no other write since, else 0. Reading
  // from such a row does not require splitting it.
  Cell whole_write(std::uint64_t word, const GlobalRecords& records, Cell oldest) const {
    const Cell whole = row_last_[word / row_words];
    if (whole < oldest || !(whole & wrote) || lane_of(whole) == split_lane) return 0;
    const unsigned words_a_lane = records[number_of(whole)].width / word_bytes;
    return whole + static_cast<Cell>(word % row_words / words_a_lane);
  }
  // Of a place, as word_of() or byte_of() numbers it.
  Cell& last(std::uint64_t place) { return cells_of(place).last[place & ~is_byte]; }
  Cell& read(std::uint64_t place) { return cells_of(place).read[place & ~is_byte]; }
  // A strong write besides the last write, if that is strong too.
  Cell& wrote_too(std::uint64_t place) { return cells_of(place).wrote_too[place & ~is_byte]; }

  // The current content of a cell, which other workers may be changing.
  static Cell seen(Cell& place) { return std::atomic_ref(place).load(std::memory_order_relaxed); }

  // Replaces the cell's content with `cell` if it is still `seen`; otherwise sets `seen` to the current
  // content.
  static bool replace(Cell& place, Cell& seen, Cell cell) {
    return seen == cell || std::atomic_ref(place).compare_exchange_strong(seen, cell);
  }

  // The list of a place; read() has the flag has_more if there is one. change(std::vector<Cell>&) may change
  // it in any way; true if it is not empty afterwards. If there is none, one is made if `may_make`.
  static constexpr std::size_t longest = 8; // a list should not be longer
  template <typename Change>
  bool change_list(std::uint64_t place, bool may_make, Change change) {
    std::lock_guard lock(locks_[place % lock_count]);
    Lists& lists = lists_[place % lock_count];
    std::uint32_t& number = cells_of(place).more[place & ~is_byte];
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
  struct Cells {
    machine::LazyArray<Cell> last, read, wrote_too;
    machine::LazyArray<std::uint32_t> more; // the number of the place's list among those of its lock; 0: none
    explicit Cells(std::size_t count) : last(count), read(count), wrote_too(count), more(count) {}
    void clear() {
      for (machine::LazyArray<Cell>* cells : {&last, &read, &wrote_too}) cells->clear();
    }
  };
  // A worker that splits the row meanwhile has either found this reader or is found now.
  template <typename Replaces, typename IsOther>
  bool enter_second_reader(std::uint64_t word, Cell first, Cell cell, Cell oldest, bool keeps_many,
                           Replaces replaces, IsOther is_other) {
    Cell& place = row_read_[word / row_words];
    Cell kept = seen(place);
    while (kept < oldest || number_of(kept) == number_of(cell) || replaces(kept) || !is_other(first, kept))
      if (replace(place, kept, cell)) return lane_of(seen(row_last_[word / row_words])) != split_lane;
    return !keeps_many;
  }
  std::uint64_t rows() const { return bytes_ / row_bytes + 1; }
  Cells& cells_of(std::uint64_t place) { return place & is_byte ? *of_bytes_ : of_words_; }
  static constexpr std::uint64_t is_byte = 1ull << 63;
  static constexpr unsigned split_lane = 31; // in a row's or a word's cell: its parts have cells of their own
  static constexpr std::size_t lock_count = 256, most_lists = 1u << 20;
  std::uint64_t base_, bytes_;
  machine::LazyArray<Cell> row_last_, row_read_;
  Cells of_words_;
  std::unique_ptr<Cells> of_bytes_; // null until a word is split
  std::mutex splitting_;
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

} // namespace warpfold::analysis
