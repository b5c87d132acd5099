#include "block.hpp"
#include "running.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::machine {

std::string file_and_line(const SourceLine& at) {
  if (at.file.empty()) return "an unknown line (build with -lineinfo)";
  return fmt::format("{}:{}", at.file.substr(at.file.find_last_of('/') + 1), at.line);
}

namespace {

// "lane 3", "lanes 0-15", "lanes 0, 2, 4 and 13 more"
std::string lanes_in_words(std::uint32_t mask) {
  if (std::popcount(mask) == 1) return fmt::format("lane {}", std::countr_zero(mask));
  int first = std::countr_zero(mask), last = 31 - std::countl_zero(mask);
  if (std::popcount(mask) == last - first + 1) return fmt::format("lanes {}-{}", first, last);
  std::string text = "lanes ";
  int shown = 0;
  for (std::uint32_t remaining = mask; remaining && shown < 3; remaining &= remaining - 1, ++shown)
    text += fmt::format("{}{}", shown ? ", " : "", std::countr_zero(remaining));
  if (std::popcount(mask) > shown) text += fmt::format(" and {} more", std::popcount(mask) - shown);
  return text;
}

} // namespace

std::string Block::standing() const {
  const Code& code = worker.grid.code;
  std::vector<std::pair<std::string, std::string>> places; // where, who
  auto add = [&](const Warp& warp, const Operation* at, std::uint32_t mask, const char* doing) {
    std::string where = fmt::format("{} ({})", file_and_line(code.line_of(*at)), doing);
    std::string who = fmt::format("warp {} {}", warp.index, lanes_in_words(mask));
    auto known =
        std::find_if(places.begin(), places.end(), [&](auto& entry) { return entry.first == where; });
    if (known == places.end())
      places.emplace_back(where, who);
    else if (known->second.size() < 160)
      known->second += "; " + who;
    else if (!known->second.ends_with("..."))
      known->second += "; ...";
  };
  for (const Warp& warp : warps) {
    for (const DivergentPath& path : warp.paths) {
      const Operation* at = path.next;
      const char* doing = "running";
      if (path.state == DivergentPath::State::at_barrier) --at, doing = "waits at a barrier";
      if (path.state == DivergentPath::State::at_rendezvous) doing = "waits for the lanes of its mask";
      if (path.state == DivergentPath::State::at_cluster) doing = "waits at the cluster's barrier";
      add(warp, at, path.mask, doing);
    }
    for (const ReconvergencePoint& point : warp.reconvergence_points)
      if (point.at && point.arrived) add(warp, point.at, point.arrived, "waits for diverged lanes");
  }
  std::string text;
  for (const auto& [where, who] : places) text += fmt::format("\n    {}: {}", where, who);
  return text;
}

Dim3 Block::thread_of(const Warp& warp, unsigned lane) const {
  const Dim3& shape = worker.grid.shape.block;
  std::uint32_t thread = warp.index * warp_lanes + lane;
  return {thread % shape.x, thread / shape.x % shape.y, thread / (shape.x * shape.y)};
}

Block::Block(Worker& owner) : worker(owner) {
  const Grid& grid = worker.grid;
  const Frame& frame = grid.code.frames.front();
  own_cluster.begin({this});
  threads = static_cast<std::uint32_t>(grid.shape.block.count());
  warps.resize((threads + warp_lanes - 1) / warp_lanes);
  shared.resize(grid.code.dynamic_shared_offset + grid.shape.dynamic_shared + shared_slack);
  constexpr std::size_t cache_line = 64;
  frames.resize(warps.size() * frame.bytes + cache_line);
  std::byte* first_frame =
      frames.data() + (cache_line - reinterpret_cast<std::uintptr_t>(frames.data()) % cache_line);
  if (worker.local_stride) local.emplace(warps.size() * warp_lanes * worker.local_stride);
  for (std::size_t i = 0; i < warps.size(); ++i) {
    Warp& warp = warps[i];
    warp.index = static_cast<std::uint32_t>(i);
    warp.block = this;
    warp.worker = &worker;
    warp.counters = worker.counters.data();
    warp.watched = grid.watcher != nullptr;
    warp.followed = warp.watched && grid.watcher->follows_values();
    warp.kernel_frame = first_frame + i * frame.bytes;
    if (local) warp.local_memory = local->data() + i * warp_lanes * worker.local_stride;
    fill_frame(warp, frame, warp.kernel_frame, 0);
  }
}

void Block::start(std::uint64_t linear) {
  const Grid& grid = worker.grid;
  const Frame& frame = grid.code.frames.front();
  linear_id = linear;
  id = {static_cast<std::uint32_t>(linear % grid.shape.grid.x),
        static_cast<std::uint32_t>(linear / grid.shape.grid.x % grid.shape.grid.y),
        static_cast<std::uint32_t>(linear / grid.shape.grid.x / grid.shape.grid.y)};
  alive = threads;
  steps = rounds = rounds_waited = 0;
  waits_for_cluster = false;
  if (cluster == &own_cluster && cluster->size() == 1) cluster->restart();
  stepped_aside = false;
  changed = looked = polled = false;
  recurrence = {};
  for (Barrier& barrier : barriers) barrier = {};
  mbarriers.clear();
  bulk_loads = most_bulk_loads = 0;
  for (Warp& warp : warps) {
    fill_block_specials(warp, frame, warp.kernel_frame);
    std::uint32_t lanes = std::min(warp_lanes, threads - warp.index * warp_lanes);
    warp.from_global.clear();
    warp.from_shared.clear();
    warp.start(all_lanes >> (warp_lanes - lanes), frame.entry);
  }
  if (grid.watcher) grid.watcher->block_begin(*this);
}

Block::Progress Block::run() {
  bool progress = false;
  const Schedule& schedule = worker.grid.schedule;
  const std::uint64_t round = linear_id << 32 ^ rounds++;
  only_waits = true;
  for (std::size_t turn = 0; turn < warps.size(); ++turn) {
    Warp& warp = warps[schedule.at(turn, warps.size(), round)];
    if (warp.done() || !warp.run()) continue;
    progress = true;
    only_waits &= warp.waits_for_memory();
    changed |= warp.changes, looked |= warp.spins, polled |= warp.polls;
  }
  if (alive == 0) {
    include_readers(worker.busiest);
    if (worker.grid.watcher) worker.grid.watcher->block_end(*this);
    return Progress::done;
  }
  if (!progress)
    for (Warp& warp : warps) progress |= warp.release_all_waiting();
  if (progress) return Progress::running;
  bool at_cluster = false;
  each_waiting([&](const Operation*, const DivergentPath& path) {
    at_cluster |= path.state == DivergentPath::State::at_cluster;
  });
  return at_cluster && cluster->size() > 1 ? Progress::waits_for_cluster : Progress::stuck;
}

void Block::include_readers(BusiestReaders& busiest) const {
  BusiestReaders mine;
  std::uint64_t begin = ~0ull, end = 0;
  for (const Warp& warp : warps) {
    const std::uint64_t read = warp.from_global.total();
    mine.block += read;
    begin = std::min(begin, warp.from_global.begin), end = std::max(end, warp.from_global.end);
    mine.include({.thread = warp.from_global.most(),
                  .warp = read,
                  .block = 0,
                  .thread_in_shared = warp.from_shared.most(),
                  .span_of_block = 0,
                  .bulk_loads = 0});
  }
  if (begin < end) mine.span_of_block = end - begin;
  mine.bulk_loads = most_bulk_loads;
  busiest.include(mine);
}

void Block::arrive(const Warp& warp, const Operation* op, unsigned number, std::uint32_t arriving,
                   std::uint32_t expected, std::uint32_t true_predicates, bool waits) {
  Barrier& barrier = barriers[number];
  Watcher* watcher = worker.grid.watcher;
  if (watcher && expected == 0) {
    if (warp.mask != warp.alive && !warp.kept_apart)
      watcher->notice(warp, *op, Notice::divergent_barrier, warp.alive & ~warp.mask, nullptr);
    if (barrier.first && barrier.first != op)
      watcher->notice(warp, *op, Notice::barrier_mismatch, warp.mask, barrier.first);
  }
  if (!barrier.first) barrier.first = op;
  barrier.arrived += arriving;
  barrier.waiting += waits ? arriving : 0;
  barrier.population += true_predicates;
  barrier.expected = expected;
  check(number);
}

void Block::left(std::uint32_t leaving) {
  alive -= leaving;
  for (unsigned number = 0; number < barrier_count; ++number)
    if (barriers[number].arrived && barriers[number].expected == 0) check(number);
}

void Block::check(unsigned number) {
  Barrier& barrier = barriers[number];
  std::uint32_t needed = barrier.expected ? barrier.expected : alive;
  if (barrier.arrived < needed || barrier.arrived == 0) return;
  Barrier next;
  next.result_population = barrier.population;
  next.result_threads = barrier.arrived;
  const Operation* op = barrier.first;
  bool whole_block = barrier.expected == 0 || barrier.expected >= threads;
  if (barrier.waiting)
    for (Warp& warp : warps)
      for (DivergentPath& path : warp.paths)
        if (path.state == DivergentPath::State::at_barrier && path.barrier == number)
          path.state = DivergentPath::State::ready;
  barrier = next;
  ++worker.counters[op->index].requests; // once per block, not once per warp
  if (worker.grid.watcher) worker.grid.watcher->barrier(*this, *op, number, whole_block);
}

void Block::stop_stuck() const {
  Fault fault{.kind = Fault::Kind::barrier, .where = {}, .other = {}, .message = {}};
  // Threads that wait further on have left the first of these places out.
  const Operation *first = nullptr, *last = nullptr;
  each_waiting([&](const Operation* at, const DivergentPath& path) {
    const bool rendezvous = path.state == DivergentPath::State::at_rendezvous;
    if (!first || at < first)
      first = at, fault.kind = rendezvous ? Fault::Kind::warp_mask : Fault::Kind::barrier;
    last = std::max(last, at);
  });
  if (first) fault.where = worker.grid.code.line_of(*first);
  if (last != first) fault.other = worker.grid.code.line_of(*last);
  fault.message =
      fmt::format("block ({}, {}, {}) can never go on: its threads wait for each other. They are at{}", id.x,
                  id.y, id.z, standing());
  throw LaunchStopped(std::move(fault));
}

void Block::stop_endless() const {
  stop_early(polls() ? Fault::Kind::waiting : Fault::Kind::endless,
             fmt::format("has executed {} warp instructions without coming to an end (the limit is set by "
                         "WARPFOLD_STEP_LIMIT)",
                         steps));
}

bool Block::polls() const {
  return std::ranges::any_of(warps,
                             [](const Warp& warp) { return !warp.done() && warp.slice == 0 && warp.polls; });
}

const Operation* Block::stands_at() const {
  for (const Warp& warp : warps)
    for (const DivergentPath& path : warp.paths)
      if (path.state == DivergentPath::State::ready && worker.grid.code.line_of(*path.next).line != 0)
        return path.next;
  return nullptr;
}

void Block::stop_early(Fault::Kind kind, const std::string& why, bool follows) const {
  Fault fault{.kind = kind, .where = {}, .other = {}, .message = {}, .follows = follows};
  if (const Operation* at = stands_at()) fault.where = worker.grid.code.line_of(*at);
  fault.message = fmt::format("block ({}, {}, {}) {}. Its threads are at{}{}", id.x, id.y, id.z, why,
                              standing(), standing_elsewhere(worker.grid));
  throw LaunchStopped(std::move(fault));
}

namespace {

std::string index_in_words(std::uint64_t linear, const Dim3& shape) {
  if (shape.y == 1 && shape.z == 1) return std::to_string(linear);
  return fmt::format("({}, {}, {})", linear % shape.x, linear / shape.x % shape.y,
                     linear / shape.x / shape.y);
}

Fault make_fault(const Warp& warp, const Operation* op, Fault::Kind kind, const std::string& message,
                 std::uint32_t lanes) {
  const Block& block = *warp.block;
  Fault fault{.kind = kind, .where = block.worker.grid.code.line_of(*op), .other = {}, .message = message};
  if (lanes == 0) return fault;
  Dim3 thread = block.thread_of(warp, static_cast<unsigned>(std::countr_zero(lanes)));
  fault.message += fmt::format(" (block ({}, {}, {}), thread ({}, {}, {})", block.id.x, block.id.y,
                               block.id.z, thread.x, thread.y, thread.z);
  if (std::popcount(lanes) > 1)
    fault.message += fmt::format(" and {} more of its warp", std::popcount(lanes) - 1);
  fault.message += ")";
  return fault;
}

} // namespace

std::string block_name(const LaunchShape& shape, std::uint64_t block) {
  return fmt::format("block {}", index_in_words(block, shape.grid));
}

std::string thread_name(const LaunchShape& shape, std::uint64_t block, unsigned warp, unsigned lane) {
  return fmt::format("thread {} of {}", index_in_words(warp * warp_lanes + lane, shape.block),
                     block_name(shape, block));
}

void stop(const Warp& warp, const Operation* op, Fault::Kind kind, const std::string& message,
          std::uint32_t lanes) {
  throw LaunchStopped(make_fault(warp, op, kind, message, lanes));
}

void refuse_access(const Warp& warp, const Operation* op, Fault fault, std::uint32_t lanes) {
  Grid& grid = warp.worker->grid;
  fault.where = grid.code.line_of(*op);
  fault.block = warp.block->linear_id;
  const int others = std::popcount(lanes) - 1;
  fault.message =
      fmt::format("{}{} {}",
                  thread_name(grid.shape, warp.block->linear_id, warp.index,
                              static_cast<unsigned>(std::countr_zero(lanes))),
                  others > 0 ? fmt::format(" (and {} more of its warp)", others) : "", fault.message);
  if (grid.complete) grid.complete(fault);
  if (!grid.watcher) throw LaunchStopped(std::move(fault));
  grid.watcher->bad_access(warp, *op, fault);
  fault.was_reported = true;
  std::lock_guard lock(grid.mutex);
  if (!grid.fault) grid.fault = std::move(fault); // the launch has failed in any case
}

} // namespace warpfold::machine
