#include "host_order.hpp"

#include <algorithm>

namespace warpfold::analysis {

namespace {

// How many removed streams keep their numbers. Older numbers are reused and continue their counts, so work of
// the old stream that was not waited for counts as ordered before the new stream's work.
constexpr std::size_t kept_apart = 64;

// In a program that never waits, pending work grows without end. The oldest is forgotten.
constexpr std::size_t longest_pending = 4096, most_pending_ranges = 1 << 20;

void set(Clock& clock, std::uint32_t actor, std::uint32_t number) {
  if (clock.size() <= actor) clock.resize(actor + 1);
  clock[actor] = number;
}

bool is_write(Touch touch) {
  return touch == Touch::write || touch == Touch::strong_write;
}
bool is_strong(Touch touch) {
  return touch == Touch::strong_read || touch == Touch::strong_write;
}
bool conflict(const TouchedRange& a, const TouchedRange& b) {
  return a.begin < b.end && b.begin < a.end && (is_write(a.touch) || is_write(b.touch)) &&
         !(is_strong(a.touch) && is_strong(b.touch));
}

// Walks over both in the order of their beginnings, and compares each range with those of the other that have
// not ended by then. A kernel may access thousands of places. Returns whether only ranges that are not exact
// conflict.
template <typename Found>
bool find_conflict(const Operation& earlier, const Operation& later, Found found) {
  std::vector<const TouchedRange*> open_earlier, open_later;
  bool may = false;
  const auto meets = [&may](std::vector<const TouchedRange*>& open,
                            const TouchedRange& range) -> const TouchedRange* {
    std::erase_if(open, [&](const TouchedRange* each) { return each->end <= range.begin; });
    const auto hit = std::find_if(open.begin(), open.end(), [&](const TouchedRange* each) {
      if (!conflict(*each, range)) return false;
      const bool is_exact = each->is_exact && range.is_exact;
      may |= !is_exact;
      return is_exact;
    });
    return hit == open.end() ? nullptr : *hit;
  };
  auto other = earlier.touched.begin();
  auto mine = later.touched.begin();
  while (mine != later.touched.end() || other != earlier.touched.end()) {
    const bool is_mine =
        other == earlier.touched.end() || (mine != later.touched.end() && mine->begin < other->begin);
    const TouchedRange& range = is_mine ? *mine++ : *other++;
    if (const TouchedRange* hit = meets(is_mine ? open_earlier : open_later, range)) {
      is_mine ? found(*hit, range) : found(range, *hit);
      return false;
    }
    (is_mine ? open_later : open_earlier).push_back(&range);
  }
  return may;
}

} // namespace

void join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

HostOrder::HostOrder() {
  add_actor(); // the host
  add_stream(true);
}

std::uint32_t HostOrder::add_actor() {
  clocks_.emplace_back();
  counts_.push_back(0);
  states_.emplace_back();
  return static_cast<std::uint32_t>(counts_.size() - 1);
}

HostOrder::Stream HostOrder::add_device() {
  const Stream stream = add_actor();
  State& state = states_[stream];
  state.is_stream = state.live = state.blocking = true;
  state.standard = stream;
  return stream;
}

HostOrder::Stream HostOrder::add_stream(bool blocking, Stream standard) {
  Stream stream = 0;
  if (removed_.size() > kept_apart) {
    stream = removed_.front();
    removed_.pop_front();
  } else {
    stream = add_actor();
  }
  State& state = states_[stream];
  state.is_stream = state.live = true;
  state.blocking = blocking;
  state.standard = standard;
  return stream;
}

void HostOrder::remove_stream(Stream stream) {
  states_[stream].live = false;
  analysis::join(removed_all_, clocks_[stream]);
  if (states_[stream].blocking) analysis::join(removed_blocking_, clocks_[stream]);
  removed_.push_back(stream);
}

void HostOrder::prepare(Stream stream) {
  Clock& mine = clocks_[stream];
  analysis::join(mine, clocks_[host]);
  if (!states_[stream].blocking) return;
  const Stream standard = states_[stream].standard;
  if (stream != standard) return analysis::join(mine, clocks_[standard]);
  analysis::join(mine, removed_blocking_);
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (i != stream && states_[i].is_stream && states_[i].live && states_[i].blocking &&
        states_[i].standard == standard)
      analysis::join(mine, clocks_[i]);
}

Operation HostOrder::issue(Stream stream) {
  prepare(stream);
  states_[stream].branches_used = 0;
  Operation operation;
  operation.actor = stream;
  operation.number = ++counts_[stream];
  set(clocks_[stream], stream, operation.number);
  operation.view = clocks_[stream];
  unfinished_[{operation.actor, operation.number}] = operation.view;
  return operation;
}

Operation HostOrder::issue_node(Stream stream, const std::vector<const Operation*>& before, bool chained) {
  Operation operation;
  for (const Operation* each : before) analysis::join(operation.view, each->view);
  if (chained) {
    operation.actor = before.front()->actor;
  } else {
    std::size_t& used = states_[stream].branches_used;
    if (used == states_[stream].branches.size()) {
      const std::uint32_t added = add_actor();
      states_[stream].branches.push_back(added);
    }
    operation.actor = states_[stream].branches[states_[stream].branches_used++];
  }
  operation.number = ++counts_[operation.actor];
  set(operation.view, operation.actor, operation.number);
  return operation;
}

void HostOrder::join(Stream stream, const Operation& node) {
  analysis::join(clocks_[stream], node.view);
}

void HostOrder::finish(Operation operation, const Report& report) {
  unfinished_.erase({operation.actor, operation.number});
  if (operation.touched.empty()) return;
  std::sort(operation.touched.begin(), operation.touched.end(),
            [](const TouchedRange& a, const TouchedRange& b) { return a.begin < b.begin; });
  for (const auto& [actor, number] : dropped_) missed_some_ |= !over(actor, number, operation.view);
  for (const Operation& earlier : pending_)
    if (!over(earlier, operation.view))
      missed_some_ |=
          find_conflict(earlier, operation, [&](const TouchedRange& other, const TouchedRange& mine) {
            report(earlier, other, operation, mine);
          });
  // An operation that does the same again, later in the same stream, stands for both.
  constexpr std::size_t looked_back = 16;
  std::size_t looked = 0;
  for (auto each = pending_.rbegin(); each != pending_.rend() && looked < looked_back; ++each, ++looked)
    if (each->actor == operation.actor && each->touched == operation.touched) {
      pending_.erase(std::next(each).base());
      break;
    }
  pending_.push_back(std::move(operation));
  std::size_t ranges = 0;
  for (const Operation& each : pending_) ranges += each.touched.size();
  while (pending_.size() > longest_pending || ranges > most_pending_ranges) {
    ranges -= pending_.front().touched.size();
    drop_oldest();
  }
}

void HostOrder::drop_oldest() {
  const Operation& oldest = pending_.front();
  std::uint32_t& newest = dropped_[oldest.actor];
  newest = std::max(newest, oldest.number);
  // The host's own loads and stores are watched only where an operation is kept.
  missed_some_ |=
      std::ranges::any_of(oldest.touched, [](const TouchedRange& range) { return range.of_host; });
  pending_.pop_front();
}

Clock HostOrder::record(Stream stream) {
  prepare(stream);
  return clocks_[stream];
}

void HostOrder::stream_waits(Stream stream, const Clock& clock) {
  prepare(stream);
  analysis::join(clocks_[stream], clock);
}

void HostOrder::host_waits(Stream stream) {
  prepare(stream);
  host_waits(clocks_[stream]);
}

bool HostOrder::host_knows(const Clock& clock) const {
  const Clock& known = clocks_[host];
  for (std::size_t i = 0; i < clock.size(); ++i)
    if (clock[i] > (i < known.size() ? known[i] : 0)) return false;
  return true;
}

void HostOrder::host_waits(const Clock& clock) {
  analysis::join(clocks_[host], clock);
  forget_what_is_over();
}

void HostOrder::host_waits_for_device(Stream standard) {
  analysis::join(clocks_[host], removed_all_);
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (states_[i].is_stream && states_[i].live && states_[i].standard == standard)
      analysis::join(clocks_[host], clocks_[i]);
  forget_what_is_over();
}

void HostOrder::host_waits_for_all() {
  analysis::join(clocks_[host], removed_all_);
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (states_[i].is_stream && states_[i].live) analysis::join(clocks_[host], clocks_[i]);
  forget_what_is_over();
}

void HostOrder::forget(std::uint64_t begin, std::uint64_t end) {
  for (Operation& operation : pending_)
    std::erase_if(operation.touched,
                  [&](const TouchedRange& range) { return range.begin < end && begin < range.end; });
}

void HostOrder::forget_what_is_over() {
  const auto is_over_for_all = [&](const Operation& operation) {
    return over(operation, clocks_[host]) &&
           std::ranges::all_of(unfinished_, [&](const auto& each) { return over(operation, each.second); });
  };
  std::erase_if(pending_, is_over_for_all);
  std::erase_if(dropped_, [this](const auto& each) { return over(each.first, each.second, clocks_[host]); });
}

} // namespace warpfold::analysis
