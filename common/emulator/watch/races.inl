// Bodies of races.hpp's templates.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

namespace warpfold::watch {

namespace detail {

using machine::AccessKind;
using machine::warp_lanes;

constexpr unsigned word_bytes = 4;

inline bool same_value(const Accessor& a, unsigned lane, unsigned other) {
  const machine::Access& access = a.access;
  return access.values && std::memcmp(access.values + lane * access.value_stride,
                                      access.values + other * access.value_stride, access.width) == 0;
}

// A store of what is there already changes nothing, whoever comes first.
inline bool changes_nothing(const Accessor& a, unsigned lane, const std::byte* memory) {
  const machine::Access& access = a.access;
  return access.values && std::memcmp(access.values + lane * access.value_stride, memory, access.width) == 0;
}

inline bool is_strong(const machine::Access& access) {
  return access.kind == AccessKind::atomic || access.order >= machine::MemoryOrder::relaxed ||
         (access.space == ptx::Space::global && access.order == machine::MemoryOrder::unordered);
}

// A cell of the shadow stands for a whole word, but threads may share a word and each have bytes of its own
// in it. False where the earlier access is not known to have touched any byte that this one does.
inline bool share_bytes(const machine::Access& access, unsigned lane, const AccessRecord& earlier) {
  if (earlier.width >= word_bytes) return true;
  if (earlier.place == AccessRecord::many_places) return false;
  if (access.width >= word_bytes) return true;
  std::uint64_t place = access.addresses[lane] % word_bytes;
  return place < earlier.place + earlier.width && earlier.place < place + access.width;
}

// May the access that `earlier` stands for and this lane's happen at the same time, with an effect that
// depends on which comes first?
inline bool races(const Accessor& a, unsigned lane, Cell earlier, const AccessRecord& record, bool both_write,
                  const std::byte* memory, bool& unfenced) {
  const machine::Access& access = a.access;
  const machine::Block& block = *access.warp.block;
  if (record.block == block.linear_id && a.order.ordered(record, lane_of(earlier), access.warp.index, lane))
    return false;
  if (is_strong(access) && record.is_strong) return false;
  if (!share_bytes(access, lane, record)) return false;
  if (record.block != block.linear_id) {
    auto order = a.histories.order(record, a.order.acquired);
    if (order == BlockHistories::Order::ordered) return false;
    unfenced = order == BlockHistories::Order::unfenced;
  }
  if (both_write && access.kind == AccessKind::store) {
    const bool same_access = number_of(earlier) == a.number;
    if (same_access ? same_value(a, lane, lane_of(earlier)) : changes_nothing(a, lane, memory)) return false;
  }
  return true;
}

// Visits each word of each active lane.
template <typename Visit>
void each_word(const machine::Access& access, Visit visit) {
  std::uint32_t mask = access.mask;
  unsigned words = std::max(1u, access.width / word_bytes);
  // Lanes that update one word by an atomic count as one lane: they cannot race with each other.
  bool one_word = access.kind == AccessKind::atomic;
  std::uint64_t leader = access.addresses[std::countr_zero(mask)];
  for (std::uint32_t remaining = mask; remaining && one_word; remaining &= remaining - 1)
    one_word = access.addresses[std::countr_zero(remaining)] == leader;
  if (one_word) mask &= -mask;
  for (; mask; mask &= mask - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(mask));
    for (unsigned i = 0; i < words; ++i)
      visit(lane, access.addresses[lane] / word_bytes * word_bytes + i * word_bytes);
  }
}

inline bool whole_words_in_a_row(const machine::Access& access) {
  return access.contiguous && access.width == word_bytes && access.first % word_bytes == 0;
}

// The common case: a row of words that nobody has touched since the last barrier (`floor`), and for a load:
// that have been written. Enters the access and returns true, or returns false and enters nothing. `active`:
// -1 for each active lane.
inline bool enter_shared_row(SharedShadow& shadow, std::uint64_t first_word, bool stores, Cell mine,
                             Cell floor, const std::int32_t* active) {
  if (first_word >= shadow.count) return false;
  Cell *wrote = &shadow.wrote[first_word], *read = &shadow.read[first_word],
       *too = &shadow.read_too[first_word];
  std::int32_t trouble = 0;
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
  }
  if (trouble) return false;
  for (unsigned i = 0; i < warp_lanes; ++i) {
    bool first_reader = read[i] < floor;
    too[i] = active[i] && !first_reader ? mine | i : too[i];
    read[i] = active[i] && first_reader ? mine | i : read[i];
  }
  return true;
}

// A whole warp's access to whole rows of device memory, with nothing before it in this launch that could
// conflict. False: some rows may have been entered; they are then found to be this access's own.
inline bool enter_global_rows(GlobalShadow& shadow, std::uint64_t first, unsigned width, bool stores,
                              Cell mine, Cell oldest) {
  const unsigned rows = width / word_bytes; // 32 lanes of n words are n rows
  if (rows == 0 || !shadow.holds(first, std::uint64_t{rows} * GlobalShadow::row_bytes) ||
      !shadow.begins_row(first))
    return false;
  for (unsigned row = 0; row < rows; ++row)
    if (!shadow.enter_row(shadow.word_of(first) + row * GlobalShadow::row_words, stores,
                          mine | row * (warp_lanes / rows), oldest))
      return false;
  return true;
}

} // namespace detail

template <typename Report, typename Unwritten>
void check_shared(SharedShadow& shadow, const BlockRecords& records, const Accessor& a, Report report,
                  Unwritten unwritten) {
  using namespace detail;
  const machine::Access& access = a.access;
  const bool stores = access.kind != AccessKind::load;
  const Cell floor = cell(a.order.floor, 0), mine = cell(a.number, 0);
  std::uint64_t first_word = access.first / word_bytes;
  if (whole_words_in_a_row(access) &&
      enter_shared_row(shadow, first_word, stores, mine, floor, access.warp.lanes))
    return;
  const std::byte* memory = access.warp.block->shared.data();
  each_word(access, [&](unsigned lane, std::uint64_t address) {
    std::uint64_t word = address / word_bytes;
    if (word >= shadow.count) return;
    Cell &wrote = shadow.wrote[word], &read = shadow.read[word], &too = shadow.read_too[word];
    bool unfenced = false;
    auto check = [&](Cell earlier, bool earlier_wrote) {
      if (earlier < floor) return;
      const AccessRecord& record = records[number_of(earlier)];
      if (races(a, lane, earlier, record, stores && earlier_wrote, memory + access.addresses[lane], unfenced))
        report(Conflict{record, lane_of(earlier), lane, address, earlier_wrote, unfenced});
    };
    check(wrote, true);
    if (stores) {
      check(read, false);
      check(too, false);
      wrote = mine | lane;
      read = too = 0;
      return;
    }
    if (wrote == 0) {
      unwritten(lane, address);
      wrote = 1; // reported once; older than any record
    }
    if (read < floor)
      read = mine | lane;
    else if (read != (mine | lane))
      too = mine | lane;
  });
}

template <typename Report>
void check_global(GlobalShadow& shadow, const GlobalRecords& records, const Accessor& a, Report report) {
  using namespace detail;
  const machine::Access& access = a.access;
  const machine::Warp& warp = access.warp;
  const bool stores = access.kind != AccessKind::load;
  const Cell oldest = cell(records.first(), 0),
             mine = cell(a.number, 0) | (is_strong(access) ? GlobalShadow::strong : 0);
  const AccessRecord& self = records[a.number];
  if (access.contiguous && access.mask == machine::all_lanes &&
      enter_global_rows(shadow, access.first, access.width, stores, mine, oldest))
    return;
  auto of_this_block = [&](Cell cell) { return records[number_of(cell)].block == self.block; };
  each_word(access, [&](unsigned lane, std::uint64_t address) {
    if (!shadow.holds(address, word_bytes)) return;
    std::uint64_t word = shadow.word_of(address);
    shadow.split(word, records, oldest);
    Cell& place = shadow.last(word);
    const Cell wrote = mine | lane | GlobalShadow::wrote;
    // Many blocks may update one word by atomics: an exchange moves its cell from core to core once for each,
    // not twice.
    const Cell last = access.kind == AccessKind::atomic ? std::atomic_ref(place).exchange(wrote) : place;
    const bool known = last >= oldest, written = known && (last & GlobalShadow::wrote);
    bool unfenced = false;
    auto check = [&](Cell earlier, bool earlier_wrote) {
      if (earlier & mine & GlobalShadow::strong) return; // and another core's record need not be fetched
      const AccessRecord& record = records[number_of(earlier)];
      if (races(a, lane, earlier, record, stores && earlier_wrote,
                reinterpret_cast<const std::byte*>(access.addresses[lane]), unfenced))
        report(Conflict{record, lane_of(earlier), lane, address, earlier_wrote, unfenced});
    };
    if (stores) {
      if (known) check(last, written);
      if (Cell reader = shadow.reader(word); written && reader >= oldest) check(reader, false);
      if (access.kind == AccessKind::store) place = wrote;
      shadow.forget_reader(word);
    } else if (!written) {
      if (!known || of_this_block(last))
        place = mine | lane; // else keep one that a later writer would race with
    } else {
      check(last, true);
      // The thread wrote the word itself since its warp last synchronised: whatever conflicts with this read
      // conflicts with that write as well.
      const AccessRecord& writer = records[number_of(last)];
      if (writer.block == self.block && writer.warp == self.warp && lane_of(last) == lane &&
          writer.moment >= a.order.warps[warp.index].phase && writer.is_strong == self.is_strong)
        return;
      Cell kept = shadow.kept_reader(word);
      if (kept < oldest || (shadow.reader(word) && of_this_block(kept)))
        shadow.keep_reader(word, mine | lane);
    }
  });
}

} // namespace warpfold::watch
