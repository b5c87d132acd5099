// Decides when two accesses to one place are a race, by the rules of races.md.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

namespace warpfold::analysis {

namespace detail {

using machine::AccessKind;
using machine::warp_lanes;

constexpr unsigned word_bytes = 4;

inline bool same_value(const Accessor& a, unsigned lane, unsigned other) {
  const machine::Access& access = a.access;
  return access.values && std::memcmp(access.values + lane * access.value_stride,
                                      access.values + other * access.value_stride, access.width) == 0;
}

// A store of the value that is already there changes nothing, whichever access comes first.
inline bool changes_nothing(const machine::Access& access, unsigned lane, const std::byte* memory) {
  return access.values && std::memcmp(access.values + lane * access.value_stride, memory, access.width) == 0;
}

inline bool is_same_block(const Accessor& a, const AccessRecord& earlier) {
  return earlier.block == a.record.block;
}

// Does a thread's own program order, a barrier, or a release and an acquire order the earlier access before
// what `lane` does now?
inline bool is_ordered(const Accessor& a, unsigned lane, Cell earlier, const AccessRecord& record) {
  const unsigned warp = a.access.warp.index, earlier_lane = lane_of(earlier);
  const bool same_block = is_same_block(a, record), same_warp = same_block && record.warp == warp;
  if (same_block && a.order.ordered(record, earlier_lane, warp, lane, a.access.space)) return true;
  if (a.launches.precedes(record.block, a.record.block)) return true;
  if (!a.order.has_acquired(warp)) return false;
  if (!same_warp && a.known_ordered == number_of(earlier)) return true;
  if (!same_warp && a.order.is_released(record, CausalClock::every_lane, warp, lane, a.launches)) {
    a.known_ordered = number_of(earlier);
    return true;
  }
  return a.order.is_released(record, earlier_lane, warp, lane, a.launches);
}

// Two atomics are atomic with regard to each other only if they access the same bytes.
inline bool differ_in_width(const AccessRecord& one, const AccessRecord& other) {
  return one.is_atomic && other.is_atomic && one.width != other.width;
}

// May two accesses meet without a race, because both are strong and the scope of each includes the other's
// thread (PTX ISA, "Morally Strong Operations")? Two volatile accesses may do so only where the word serves
// as a flag.
inline bool may_meet(const Accessor& a, const AccessRecord& earlier, std::uint64_t address) {
  const AccessRecord& mine = a.record;
  if (mine.strength == Strength::weak || earlier.strength == Strength::weak) return false;
  if (differ_in_width(mine, earlier)) return false;
  const Level needed = a.launches.between(mine.block, earlier.block);
  if (level_of(mine.scope) < needed || level_of(earlier.scope) < needed) return false;
  if (mine.strength == Strength::strong || earlier.strength == Strength::strong) return true;
  if (mine.polls || earlier.polls) return true;
  const bool shared = a.access.space == ptx::Space::shared;
  if (a.places) return false; // of a cluster: a flag between blocks is no volatile word
  const std::uint64_t word = address / word_bytes * word_bytes;
  const ReleaseLog* const log = a.logs.find(shared ? ReleaseLogs::shared_address(mine.block, word) : word);
  return log && log->is_polled();
}

inline Missing what_is_missing(const Accessor& a, unsigned lane, Cell earlier, bool earlier_wrote,
                               const AccessRecord& record) {
  if (const Acquired* met = a.order.not_acquired(record, lane_of(earlier), a.access.warp.index))
    return met->by == Acquired::By::release ? Missing::wait
           : met->fenced                    ? Missing::wide_acquire
           : met->by == Acquired::By::lock  ? Missing::acquire
                                            : Missing::poll;
  const bool both_strong = a.record.strength == Strength::strong && record.strength == Strength::strong;
  if (both_strong) return differ_in_width(a.record, record) ? Missing::width : Missing::scope;
  const unsigned warp = a.access.warp.index;
  if (is_same_block(a, record) && record.moment < a.order.last_barrier()) return Missing::other_memory;
  if (is_same_block(a, record) && record.warp == warp &&
      a.order.has_synced_since(record, lane_of(earlier), warp, lane))
    return Missing::narrow_sync;
  if (is_same_block(a, record) || !a.order.warps[warp].has_read_strongly) return Missing::order;
  const BlockHistories::History& history = a.launches.history_of(record.block);
  const Level needed = a.launches.between(a.record.block, record.block);
  // Another write announces it; one to the same place, or by the same instruction, may be this one.
  const bool was_published = earlier_wrote &&
                             record.operation != history.published_by.load(std::memory_order_relaxed) &&
                             record.moment <= history.published.load(std::memory_order_acquire) &&
                             history.published_at.load(std::memory_order_relaxed) != a.access.addresses[lane];
  if (record.moment < history.released[static_cast<std::size_t>(needed)]) return Missing::address;
  if (needed == Level::system && record.moment < history.released[static_cast<std::size_t>(Level::device)])
    return Missing::system_fence;
  if (needed > Level::cluster && record.moment < history.released[static_cast<std::size_t>(Level::cluster)])
    return Missing::cluster_fence;
  if (record.moment < history.released[0]) return Missing::wide_fence;
  return was_published ? Missing::fence : Missing::order;
}

// Another lane that accesses the same place; `lane` itself if there is none.
inline unsigned another_at_place(const machine::Access& access, unsigned lane) {
  for (std::uint32_t rest = access.mask & ~(1u << lane); rest; rest &= rest - 1)
    if (const auto other = static_cast<unsigned>(std::countr_zero(rest));
        access.addresses[other] == access.addresses[lane])
      return other;
  return lane;
}

// Judges this access against earlier ones of a word or a byte of it, which is at `place`.
template <typename Records, typename Report>
class Judge {
public:
  Judge(const Accessor& accessor, const Records& records, const Report& report)
      : a_(accessor), records_(records), report_(report) {}
  void check(Cell earlier, bool earlier_wrote, unsigned lane, std::uint64_t place,
             const std::byte* memory) const {
    const AccessRecord& record = records_[number_of(earlier)];
    if (a_.by_read_only_path && earlier_wrote &&
        &a_.launches.of(record.block) == &a_.launches.of(a_.record.block))
      return report_(Conflict{record, lane_of(earlier), lane, true, Missing::plain_load, false, 0});
    const bool same_thread =
        lane_of(earlier) == lane && record.warp == a_.record.warp && is_same_block(a_, record);
    if (same_thread) {
      // Of the lanes that update one word with an atomic, only the first gets here.
      const unsigned another = a_.access.kind == AccessKind::atomic && !record.is_atomic
                                   ? another_at_place(a_.access, lane)
                                   : lane;
      if (another != lane) check(earlier, earlier_wrote, another, place, memory);
      return;
    }
    // A flag is identified by the address at which the access begins, whichever of its words this is.
    if (may_meet(a_, record, a_.access.addresses[lane]) || is_ordered(a_, lane, earlier, record)) return;
    bool is_harmless = false;
    if (earlier_wrote && !record.is_atomic && a_.access.kind == AccessKind::store) {
      const bool same_access = number_of(earlier) == a_.number;
      is_harmless =
          same_access ? same_value(a_, lane, lane_of(earlier)) : changes_nothing(a_.access, lane, memory);
      // All threads set the same flag.
      if (is_harmless && record.operation == a_.record.operation) return;
    }
    report_(Conflict{record, lane_of(earlier), lane, earlier_wrote || record.is_store,
                     what_is_missing(a_, lane, earlier, earlier_wrote, record), is_harmless,
                     place - std::min(place, a_.access.addresses[lane])});
  }

private:
  const Accessor& a_;
  const Records& records_;
  const Report& report_;
};

} // namespace detail

} // namespace warpfold::analysis
