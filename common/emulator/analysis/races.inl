// The bodies of races.hpp's templates: the shadow cells, what an access is compared with, and which accesses
// the cells keep.
#pragma once

#include "race_rules.inl"

#include <algorithm>
#include <atomic>
#include <bit>

namespace warpfold::analysis {

namespace detail {

// Visits each word of each active lane.
template <typename Visit>
void each_word(const machine::Access& access, Visit visit) {
  std::uint32_t mask = access.mask;
  unsigned words = std::max(1u, access.width / word_bytes);
  // Lanes that update one word with an atomic count as one lane: they cannot race with each other. Of the
  // lanes that read one word, two are enough: a thread that writes the word differs from at least one of
  // them.
  bool one_word = access.kind != AccessKind::store;
  std::uint64_t leader = access.addresses[std::countr_zero(mask)];
  for (std::uint32_t remaining = mask; remaining && one_word; remaining &= remaining - 1)
    one_word = access.addresses[std::countr_zero(remaining)] == leader;
  if (one_word) {
    const std::uint32_t first = mask & -mask, rest = mask ^ first;
    mask = first | (access.kind == AccessKind::load ? rest & -rest : 0);
  }
  for (; mask; mask &= mask - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(mask));
    for (unsigned i = 0; i < words; ++i)
      visit(lane, access.addresses[lane] / word_bytes * word_bytes + i * word_bytes);
  }
}

// Visits those bytes of the word at `word` that the lane accesses.
template <typename Visit>
void each_byte(const machine::Access& access, unsigned lane, std::uint64_t word, Visit visit) {
  const std::uint64_t first = std::max(access.addresses[lane], word);
  const std::uint64_t end = std::min(access.addresses[lane] + access.width, word + word_bytes);
  for (std::uint64_t byte = first; byte < end; ++byte) visit(byte);
}

inline bool whole_words_in_a_row(const machine::Access& access) {
  return access.contiguous && access.width == word_bytes && access.first % word_bytes == 0;
}

// A row that two warps have each read as a whole, and that a third warp, or one of the two again, reads now.
// False if the row's words have readers of several kinds.
inline bool have_two_readers(const BlockRecords& records, Cell* read, Cell* too, Cell mine,
                             const std::int32_t* active) {
  unsigned lead = 0;
  while (!active[lead]) ++lead;
  std::uint32_t differs = 0;
  for (unsigned i = 0; i < warp_lanes; ++i)
    differs |= ((read[i] ^ (read[lead] - lead + i)) | (too[i] ^ (too[lead] - lead + i))) &
               static_cast<std::uint32_t>(active[i]);
  if (differs || number_of(read[lead]) < records.first() || number_of(too[lead]) < records.first())
    return false;
  const unsigned first = records[number_of(read[lead])].warp, second = records[number_of(too[lead])].warp,
                 own = records[number_of(mine)].warp;
  if (first == second) return false;
  if (own != first && own != second) return true;
  Cell* again = own == first ? read : too;
  for (unsigned i = 0; i < warp_lanes; ++i) again[i] = active[i] ? mine | i : again[i];
  return true;
}

// The common case: a row of words that no thread has accessed since the last barrier (`floor`) and, for a
// load, that have been written. Enters the access and returns true, or returns false and enters nothing.
// `active`: -1 for each active lane.
inline bool enter_shared_row(SharedShadow& shadow, const BlockRecords& records, std::uint64_t first_word,
                             bool stores, Cell mine, const std::int32_t* active, bool keeps_many) {
  const Cell floor = cell(records.first(), 0);
  if (first_word >= shadow.count) return false;
  SharedShadow::Cells& words = shadow.words;
  Cell *wrote = &words.wrote[first_word], *read = &words.read[first_word], *too = &words.read_too[first_word];
  std::int32_t trouble = 0, third = 0;
  if (stores) {
    for (unsigned i = 0; i < warp_lanes; ++i) {
      bool touched = wrote[i] >= floor || read[i] >= floor || too[i] >= floor;
      trouble |= active[i] & -static_cast<std::int32_t>(touched);
    }
    if (trouble) return false;
    for (unsigned i = 0; i < warp_lanes; ++i) wrote[i] = active[i] ? mine | i : wrote[i];
    return true;
  }
  for (unsigned i = 0; i < warp_lanes; ++i) {
    bool bad = wrote[i] >= floor || wrote[i] == 0;
    trouble |= active[i] & -static_cast<std::int32_t>(bad);
    third |= active[i] & -static_cast<std::int32_t>(too[i] >= floor);
  }
  if (trouble) return false;
  if (third) return !keeps_many && have_two_readers(records, read, too, mine, active);
  for (unsigned i = 0; i < warp_lanes; ++i) {
    bool first_reader = read[i] < floor;
    too[i] = active[i] && !first_reader ? mine | i : too[i];
    read[i] = active[i] && first_reader ? mine | i : read[i];
  }
  return true;
}

// Of two readers of a word: is it pointless to keep the earlier one beside this access?
inline bool replaces(const Accessor& a, unsigned lane, Cell earlier, const AccessRecord& record) {
  if (a.launches.precedes(record.block, a.record.block)) return true;
  if (a.order.has_acquired(a.access.warp.index)) return is_ordered(a, lane, earlier, record);
  return is_same_block(a, record) &&
         a.order.ordered(record, lane_of(earlier), a.access.warp.index, lane, a.access.space);
}

// A whole warp's access to whole rows of device memory, when nothing before it in this launch could conflict.
// If it returns false, some rows may have been entered; they are then recognised as this access's own.
inline bool enter_global_rows(GlobalShadow& shadow, const GlobalRecords& records, const BlockOrder& order,
                              const Launches& launches, const AccessRecord& self, std::uint64_t first,
                              bool stores, Cell mine, Cell oldest, bool keeps_many) {
  const unsigned rows = self.width / word_bytes; // 32 lanes of n words are n rows
  if (rows == 0 || !shadow.holds(first, std::uint64_t{rows} * GlobalShadow::row_bytes) ||
      !shadow.begins_row(first))
    return false;
  const auto replaces = [&](Cell earlier) {
    const AccessRecord& record = records[number_of(earlier)];
    if (launches.precedes(record.block, self.block)) return true;
    return record.block == self.block &&
           (record.moment < order.floor || (record.warp == self.warp && record.width == self.width));
  };
  const auto is_other = [&](Cell one, Cell other) {
    return records[number_of(one)].block != records[number_of(other)].block;
  };
  for (unsigned row = 0; row < rows; ++row)
    if (!shadow.enter_row(shadow.word_of(first) + row * GlobalShadow::row_words, stores,
                          mine | row * (warp_lanes / rows), oldest, keeps_many, replaces, is_other))
      return false;
  return true;
}

// Enters a reader of a word or a byte in shared memory.
inline void keep_shared_reader(SharedShadow::Cells& cells, const BlockRecords& records, const Accessor& a,
                               std::size_t place, unsigned lane, Cell me, Cell floor) {
  Cell* slots[] = {&cells.read[place], &cells.read_too[place]};
  for (Cell* slot : slots) {
    if (*slot == me) return;
    if (*slot < floor || replaces(a, lane, *slot, records[number_of(*slot)])) {
      *slot = me;
      return;
    }
  }
  const unsigned warps[] = {records[number_of(*slots[0])].warp, records[number_of(*slots[1])].warp};
  if (warps[0] == warps[1]) {
    if (warps[0] != a.record.warp) *slots[1] = me;
    return;
  }
  if (!a.keeps_many || a.record.warp == warps[0] || a.record.warp == warps[1]) return;
  std::vector<Cell>& more = cells.read_by_more[place];
  if (more.size() < warp_lanes) more.push_back(me);
}

// Enters a reader of a place in global memory. `written`: last() is a write.
inline void keep_global_reader(GlobalShadow& shadow, const GlobalRecords& records, const Accessor& a,
                               std::uint64_t place, unsigned lane, Cell me, Cell oldest, bool written,
                               bool strong) {
  const auto stands_for = [&](Cell kept) { // can `me` stand for it?
    return (number_of(kept) == a.number && lane_of(kept) == lane) ||
           replaces(a, lane, kept, records[number_of(kept)]);
  };
  Cell first = 0;
  if (!written) {
    Cell& last = shadow.last(place);
    first = GlobalShadow::seen(last);
    do {
      // Meanwhile it was written, or split; the caller looks again.
      if (first >= oldest && ((first & GlobalShadow::wrote) || number_of(first) == records.first())) return;
      if (first >= oldest && !stands_for(first)) break;
    } while (!GlobalShadow::replace(last, first, me | (strong ? GlobalShadow::strong : 0)));
    if (first < oldest || stands_for(first)) return;
  }
  Cell& read = shadow.read(place);
  Cell kept = GlobalShadow::seen(read), more = 0;
  bool entered = false;
  do {
    more = kept >= oldest ? kept & GlobalShadow::has_more : 0;
    entered = kept < oldest || number_of(kept) == records.first() || stands_for(kept);
  } while (entered && !GlobalShadow::replace(read, kept, me | more));
  if (entered) return;
  if (!written && !a.keeps_many) {
    // Two readers are kept: of different blocks, or at least of different warps, if there are any.
    const AccessRecord &one = records[number_of(first)], &two = records[number_of(kept)];
    const bool same_warp = one.block == two.block && one.warp == two.warp && one.warp != a.record.warp;
    if (same_warp || (one.block == two.block && one.block != a.record.block)) read = me | more;
    return;
  }
  const bool is_kept = shadow.change_list(place, true, [&](std::vector<Cell>& list) {
    std::size_t readers = 0, of_warp = 0;
    for (Cell& slot : list) {
      if (stands_for(slot)) {
        slot = me;
        return;
      }
      const AccessRecord& other = records[number_of(slot)];
      ++readers;
      of_warp += other.block == a.record.block && other.warp == a.record.warp;
    }
    const std::size_t most = a.keeps_many ? GlobalShadow::longest - 1 : 1;
    if (readers < most && of_warp < 2) list.push_back(me);
  });
  if (is_kept && !more) std::atomic_ref(read).fetch_or(GlobalShadow::has_more);
}

// Of strong writes that met without a race, only the last has a cell of its own. This keeps one by another
// warp beside it, because the thread that writes now may later read what that warp wrote.
inline void keep_global_writer(GlobalShadow& shadow, const GlobalRecords& records, const Accessor& a,
                               std::uint64_t number, Cell displaced, Cell oldest) {
  const auto is_mine = [&](Cell cell) {
    const AccessRecord& record = records[number_of(cell)];
    return record.block == a.record.block && record.warp == a.record.warp;
  };
  Cell& place = shadow.wrote_too(number);
  const Cell kept = GlobalShadow::seen(place);
  if ((kept < oldest || is_mine(kept)) && !is_mine(displaced)) place = displaced;
}

} // namespace detail

template <typename Report, typename Unwritten>
void check_shared(SharedShadow& shadow, const BlockRecords& records, const Accessor& a, Report report,
                  Unwritten unwritten) {
  using namespace detail;
  const machine::Access& access = a.access;
  const bool stores = access.kind != AccessKind::load;
  const Cell floor = cell(records.first(), 0), mine = cell(a.number, 0);
  const bool strong = a.record.strength == Strength::strong;
  std::uint64_t first_word = access.first / word_bytes;
  if (whole_words_in_a_row(access) &&
      enter_shared_row(shadow, records, first_word, stores, mine, access.warp.lanes, a.keeps_many))
    return;
  const std::byte* memory = access.warp.block->shared.data();
  const Judge judge(a, records, report);
  const auto check_place = [&](SharedShadow::Cells& cells, std::size_t place, unsigned lane,
                               std::uint64_t address) {
    Cell &wrote = cells.wrote[place], &read = cells.read[place], &too = cells.read_too[place];
    auto check = [&](Cell earlier, bool earlier_wrote) {
      if (earlier >= floor)
        judge.check(earlier, earlier_wrote, lane, address, memory + access.addresses[lane]);
    };
    check(wrote, true);
    if (stores) {
      check(read, false);
      check(too, false);
      if (const auto more = cells.readers_more(place); more != cells.read_by_more.end()) {
        for (Cell reader : more->second) check(reader, false);
        cells.read_by_more.erase(more);
      }
      // Strong writes that meet hide the accesses before the first of them from those that follow. So a plain
      // write before them is kept in a reader's cell, and readers stay.
      const bool follows_write = strong && wrote >= floor;
      const bool follows_strong = follows_write && records[number_of(wrote)].strength == Strength::strong;
      if (!follows_strong) {
        read = follows_write ? wrote : 0;
        too = 0;
      }
      wrote = mine | lane;
      return;
    }
    if (read < floor)
      read = mine | lane;
    else
      keep_shared_reader(cells, records, a, place, lane, mine | lane, floor);
  };
  each_word(access, [&](unsigned lane, std::uint64_t address) {
    std::uint64_t word = address / word_bytes;
    if (word >= shadow.count) return;
    if (Cell& wrote = shadow.words.wrote[word]; !stores && wrote == 0) {
      unwritten(lane);
      wrote = 1; // reported once; 1 is older than any record
    }
    if (access.width >= word_bytes && !shadow.is_split(word, floor))
      return check_place(shadow.words, word, lane, address);
    shadow.split(word, floor);
    each_byte(access, lane, address,
              [&](std::uint64_t byte) { check_place(shadow.bytes, byte, lane, byte); });
  });
}

template <typename Report>
void check_global(GlobalShadow& shadow, const GlobalRecords& records, const Accessor& a, Report report) {
  using namespace detail;
  const machine::Access& access = a.access;
  const machine::Warp& warp = access.warp;
  const bool stores = access.kind != AccessKind::load;
  const AccessRecord& self = a.record;
  // Where kernels of other devices run too, only system scope reaches all others.
  const Level all = a.launches.several() ? Level::system : Level::device;
  const bool strong = self.strength == Strength::strong && level_of(self.scope) >= all;
  const Cell oldest = cell(records.first(), 0),
             mine = cell(a.number, 0) | (strong ? GlobalShadow::strong : 0);
  if (access.contiguous && access.mask == machine::all_lanes && !a.by_read_only_path &&
      enter_global_rows(shadow, records, a.order, a.launches, self, access.first, stores, mine, oldest,
                        a.keeps_many))
    return;
  const Judge judge(a, records, report);
  const auto is_marker = [&](Cell cell) { return cell >= oldest && number_of(cell) == records.first(); };
  // False if another worker has just split the word `number`. `whole`: its last write, if all of its row has
  // that one.
  const auto check_place = [&](std::uint64_t number, unsigned lane, Cell whole, std::uint64_t address) {
    Cell& place = shadow.last(number);
    const Cell wrote = mine | lane | GlobalShadow::wrote;
    // An exchange, so that when two workers arrive at the same time, one of them finds the other. It also
    // makes a cell that many blocks update move from core to core once per update instead of twice.
    const Cell last = stores  ? std::atomic_ref(place).exchange(wrote)
                      : whole ? whole
                              : GlobalShadow::seen(place);
    if (is_marker(last)) {
      if (stores) place = last;
      return false;
    }
    const bool known = last >= oldest, written = known && (last & GlobalShadow::wrote);
    auto check = [&](Cell earlier, bool earlier_wrote) {
      judge.check(earlier, earlier_wrote, lane, address, a.memory_of(lane));
    };
    const auto check_wrote_too = [&] {
      Cell& too = shadow.wrote_too(number);
      const Cell other = GlobalShadow::seen(too);
      if (other < oldest) return;
      check(other, true);
      if (stores) too = 0;
    };
    if (!stores) {
      if (written && !(last & mine & GlobalShadow::strong)) {
        check(last, true);
        if (last & GlobalShadow::strong) check_wrote_too();
        // The thread itself wrote the place since its warp last synchronised, so whatever conflicts with this
        // read also conflicts with that write.
        const AccessRecord& writer = records[number_of(last)];
        if (writer.block == self.block && writer.warp == self.warp && lane_of(last) == lane &&
            writer.moment >= a.order.phase_of(warp.index) && writer.strength == self.strength)
          return true;
      }
      keep_global_reader(shadow, records, a, number, lane, cell(a.number, lane), oldest, written, strong);
      // A worker that wrote in the meantime has either found this reader or is found now.
      const bool is_whole = whole && shadow.whole_write(number, records, oldest) == whole;
      const Cell now = is_whole ? whole : GlobalShadow::seen(place);
      if (is_marker(now)) return false;
      if (now != last && now >= oldest && (now & GlobalShadow::wrote) && !(now & mine & GlobalShadow::strong))
        check(now, true);
      return true;
    }
    // If both accesses are strong and their scopes reach each other, the other core's record need not be
    // fetched.
    const bool meets = known && (last & mine & GlobalShadow::strong) &&
                       !(a.mixes_widths() && differ_in_width(self, records[number_of(last)]));
    if (known && !meets) check(last, written);
    if (written && !meets && (last & GlobalShadow::strong)) check_wrote_too();
    Cell& read = shadow.read(number);
    const Cell reader = GlobalShadow::seen(read);
    if (reader >= oldest) {
      if (number_of(reader) != records.first()) check(reader & ~GlobalShadow::has_more, false);
      if (reader & GlobalShadow::has_more)
        shadow.change_list(number, false, [&](std::vector<Cell>& list) {
          for (Cell each : list) check(each, false);
          if (!meets) list.clear();
        });
      if (!meets || !written) read = 0;
    }
    if (meets && written) keep_global_writer(shadow, records, a, number, last, oldest);
    // Strong writes that meet hide the accesses before the first of them from those that follow. So a plain
    // write before them is kept in a reader's cell.
    if (written && strong && !meets) read = last & ~both_flags;
    return true;
  };
  each_word(access, [&](unsigned lane, std::uint64_t address) {
    if (!shadow.holds(address, word_bytes)) return;
    const std::uint64_t word = shadow.word_of(address);
    const bool narrow = access.width < word_bytes;
    const Cell whole = stores || narrow ? 0 : shadow.whole_write(word, records, oldest);
    if (!whole) shadow.split_row(word, records, oldest);
    if (narrow) shadow.split_word(word, oldest);
    if (!narrow && check_place(word, lane, whole, address)) return;
    each_byte(access, lane, address,
              [&](std::uint64_t byte) { check_place(shadow.byte_of(byte), lane, 0, byte); });
  });
}

} // namespace warpfold::analysis
