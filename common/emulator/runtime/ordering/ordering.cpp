#include "runtime/ordering/ordering_state.hpp"

#include "runtime/devices/devices.hpp"
#include "runtime/memory/memory_check.hpp"
#include "runtime/reporting/call_sites.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/reporting/host_faults.hpp"
#include "runtime/streams/host_functions.hpp"
#include "runtime/streams/stream_table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace warpfold::runtime::ordering {

__attribute__((tls_model("initial-exec"))) constinit thread_local Current* current = nullptr;

namespace {

using machine::MemoryKind;

bool is_of_host(std::uint64_t address) {
  const auto allocation = Runtime::get().memory.find(address);
  if (!allocation) return false;
  switch (allocation->kind) {
  case MemoryKind::managed:
  case MemoryKind::pinned:
  case MemoryKind::registered:
    return true;
  case MemoryKind::variable:
    return Runtime::get().registry.is_managed_variable(allocation->begin);
  default:
    return false;
  }
}

void touch(const void* begin, std::size_t size, Touch how) {
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  if (!current || size == 0 || !allocation_of(begin)) return; // pageable memory: already copied by the call
  current->operation.touched.push_back({address, address + size, how, is_of_host(address)});
}

// What a host function writes is what differs after it. That is certain only if nothing else writes at the
// same time, so with several devices, with several threads that issue work, or if the one that does so goes
// on, it is not looked for.
void expect_writes(const State& state, Current& mine) {
  constexpr std::uint64_t most_bytes = 64 << 20;
  if (state.several_issuers || mine.meets_host) return;
  mine.before.emplace(Runtime::get().memory,
                      std::initializer_list{MemoryKind::pinned, MemoryKind::registered, MemoryKind::managed});
  if (mine.before->bytes() == 0 || mine.before->bytes() > most_bytes) return mine.before.reset();
  mine.before->keep();
}

void note_writes(Current& mine) {
  constexpr std::uint64_t gap = 4; // bytes within one element that did not change
  std::vector<TouchedRange>& touched = mine.operation.touched;
  for (const auto& [begin, end] : mine.before->changes(Runtime::get().memory))
    if (!touched.empty() && begin - touched.back().end < gap)
      touched.back().end = end;
    else
      touched.push_back({begin, end, Touch::write});
  mine.before.reset();
}

// Host functions run on a thread of the runtime: they may access only memory whose work is complete by then.
void before_work(State& state, Current& mine, cudaGraphNodeType type) {
  if (type == cudaGraphNodeTypeHost) note_host_accesses(); // those before it
  mine.outer = current;
  current = &mine;
  if (type == cudaGraphNodeTypeHost) {
    mine.operation.name = "a host function";
    mine.operation.is_host_function = true;
    may_be_known(mine.operation.view);
    analysis::join(state.perhaps_known, mine.operation.view);
  }
  if (works_later()) return; // others are at work
  open_to_all(state);
  if (type != cudaGraphNodeTypeHost) return;
  expect_writes(state, mine);
  close_what_is_in_flight(state, &mine.operation.view);
}

void after_work(State& state, Current& mine) {
  note_host_accesses();
  const auto met = std::move(mine.met);
  current = mine.outer;
  if (mine.before) {
    open_to_all(state);
    note_writes(mine);
  } else {
    for (TouchedRange& range : mine.operation.touched)
      if (range.end > range.begin && !range.of_host) range.of_host = is_of_host(range.begin);
  }
  const Operation& done = mine.operation;
  state.order.finish(done, [&](const Operation& earlier, const TouchedRange& other, const Operation& later,
                               const TouchedRange& range) {
    // With several devices, the checks have compared such kernels access by access.
    const bool are_compared = several_devices() && earlier.is_kernel && later.is_kernel;
    const bool is_certain = !earlier.is_host_function || !state.several_issuers;
    const bool is_reported = met.contains({earlier.actor, earlier.number});
    if (!are_compared && is_certain && !is_reported) report_streams(state, earlier, other, later, range);
  });
  if (state.order.has_missed_some()) report_not_checked(state, "this call", &done);
}

cudaError_t do_work(cudaGraphNodeType type, const Work& work) {
  const DeviceMemoryInUse use(type != cudaGraphNodeTypeHost && type != cudaGraphNodeTypeGraph &&
                              type != cudaGraphNodeTypeConditional);
  std::shared_lock writes(Runtime::get().contents, std::defer_lock);
  if (type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset) writes.lock();
  return work ? work() : cudaSuccess;
}

} // namespace

std::shared_ptr<Issued> issue(cudaStream_t handle, cudaGraphNodeType type) {
  if (!is_on() || current) return nullptr; // inside a graph's node: part of that node
  State& state = State::get();
  auto issued = std::make_shared<Issued>();
  std::scoped_lock lock(StreamTable::get().mutex, state.mutex);
  note_host_accesses();
  learn_from_host_functions(state);
  if (state.issuer == std::thread::id()) state.issuer = std::this_thread::get_id();
  state.several_issuers |= state.issuer != std::this_thread::get_id();
  issued->stream = number_of(state, handle);
  issued->operation = state.order.issue(issued->stream);
  issued->operation.name = current_call();
  issued->operation.where = name_of(handle);
  issued->in_own_stream = !is_default(handle) && !is_per_thread(handle);
  if (type != cudaGraphNodeTypeKernel || wants_touches()) issued->operation.frames = callers();
  return issued;
}

bool begins_late(cudaGraphNodeType type) {
  return type == cudaGraphNodeTypeHost && !current && watches_host();
}

void meets_host(Issued* issued) {
  if (issued) issued->meets_host = true;
}

cudaError_t carry_out(Issued* issued, cudaGraphNodeType type, const Work& work) {
  if (!issued) return do_work(type, work);
  State& state = State::get();
  Current& mine = *issued;
  {
    std::lock_guard lock(state.mutex);
    before_work(state, mine, type);
  }
  cudaError_t error = cudaSuccess;
  try {
    error = do_work(type, work);
  } catch (...) {
    std::lock_guard lock(state.mutex);
    after_work(state, mine);
    throw;
  }
  std::lock_guard lock(state.mutex);
  after_work(state, mine);
  state.order.join(mine.stream, mine.operation);
  if (sticky_error() != cudaSuccess) state.order.host_waits_for_all(); // nothing runs any more
  if (mine.host_waits) state.order.host_waits(mine.operation.view);
  close_what_is_in_flight(state, nullptr);
  return error;
}

cudaError_t carry_out(const std::vector<Step>& steps) {
  if (!is_on() || !current) {
    for (const Step& step : steps)
      if (const cudaError_t error = do_work(step.type, *step.work); error != cudaSuccess) return error;
    return cudaSuccess;
  }
  State& state = State::get();
  if (steps.size() > 1) state.has_streams = true; // nodes of a graph run beside one another in any stream
  Current& launch = *current;
  const Operation begin = launch.operation;
  std::vector<Operation> ends(steps.size());
  std::vector<bool> continued(steps.size() + 1); // the last element: the launch's own beginning
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<std::size_t>& after = *steps[i].after;
    std::vector<const Operation*> before;
    for (const std::size_t each : after) before.push_back(&ends[each]);
    if (before.empty()) before.push_back(&begin);
    const std::size_t first = after.empty() ? steps.size() : after.front();
    Current mine;
    mine.stream = launch.stream;
    mine.in_graph = true;
    {
      std::lock_guard lock(state.mutex);
      mine.operation = state.order.issue_node(launch.stream, before, !continued[first]);
      continued[first] = true;
      mine.operation.name = steps[i].type == cudaGraphNodeTypeMemcpy   ? "a copy"
                            : steps[i].type == cudaGraphNodeTypeMemset ? "a memset"
                                                                       : "a node";
      mine.operation.where =
          "a graph in " + begin.where.substr(begin.where.starts_with("a graph in ") ? 11 : 0);
      mine.operation.frames = begin.frames;
      mine.operation.of_graph = true;
      before_work(state, mine, steps[i].type);
    }
    const cudaError_t error = do_work(steps[i].type, *steps[i].work);
    std::lock_guard lock(state.mutex);
    after_work(state, mine);
    ends[i] = std::move(mine.operation);
    ends[i].touched.clear();
    analysis::join(launch.operation.view, ends[i].view);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

void reads(const void* begin, std::size_t size) {
  touch(begin, size, Touch::read);
}

void writes(const void* begin, std::size_t size) {
  touch(begin, size, Touch::write);
}

void is_kernel(const std::string& name) {
  if (!current) return;
  current->operation.name = name;
  current->operation.is_kernel = true;
}

void launches_next(int device) {
  analysis::Checker* const checker = Runtime::get().checker();
  if (!current || !several_devices()) return;
  if (checker) checker->next_launch(current->operation);
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  const Operation& mine = current->operation;
  std::erase_if(state.launched,
                [&](const Launched& known) { return state.order.host_knows(known.actor, known.number); });
  const bool waits_for_others = std::ranges::any_of(state.launched, [&](const Launched& earlier) {
    return earlier.device != device && analysis::HostOrder::over(earlier.actor, earlier.number, mine.view);
  });
  if (waits_for_others) Runtime::get().recorder.add_launch_after_others();
  state.launched.push_back({device, mine.actor, mine.number});
}

void touches(std::vector<TouchedRange> ranges) {
  if (current) current->operation.touched = std::move(ranges);
}

void host_waits_for_this() {
  if (current) current->host_waits = true;
}

namespace {

enum class Side { pageable, host, device };

Side side_of(const void* pointer) {
  const auto allocation = allocation_of(pointer);
  if (!allocation) return Side::pageable;
  return is_of_host(reinterpret_cast<std::uint64_t>(pointer)) ? Side::host : Side::device;
}

// A program that copies in a stream of its own intends to continue meanwhile. This does not apply to copies
// that fit into the driver's buffer in one piece, such as libraries' own small copies.
void advise_against_pageable(std::size_t size) {
  constexpr std::size_t one_piece = 64 << 10;
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  if (size <= one_piece || current->in_graph || !current->in_own_stream) return;
  if (std::exchange(state.has_warned_of_pageable, true)) return;
  const Operation& copy = current->operation;
  add(HazardCause::pageable_memory,
      fmt::format("{} in {} copies memory from malloc, new or the stack, and so may wait until it is done",
                  copy.name, copy.where),
      &copy, nullptr, HazardKind::pageable_copy);
}

} // namespace

// See "API synchronization behavior" in the CUDA Runtime API. Lenient where it says "may": a blocking copy
// from pageable memory counts as complete, although its last bytes may still be on their way to the device.
Returns copy_returns(const void* destination, const void* source, bool blocking) {
  const Side to = side_of(destination), from = side_of(source);
  const bool pageable = to == Side::pageable || from == Side::pageable;
  const bool between_devices = to == Side::device && from == Side::device;
  return pageable || (blocking && !between_devices) ? Returns::when_done : Returns::early;
}

Returns fill_returns(const void* destination, bool blocking) {
  return blocking && side_of(destination) == Side::host ? Returns::when_done : Returns::early;
}

void copies(void* destination, const void* source, std::size_t size, bool blocking) {
  if (!current || size == 0) return;
  reads(source, size);
  writes(destination, size);
  const Side to = side_of(destination), from = side_of(source);
  const bool pageable = to == Side::pageable || from == Side::pageable;
  if (pageable && !blocking && to != from) advise_against_pageable(size);
  if (copy_returns(destination, source, blocking) == Returns::when_done) host_waits_for_this();
}

void fills(void* destination, std::size_t size, bool blocking) {
  if (!current || size == 0) return;
  writes(destination, size);
  if (fill_returns(destination, blocking) == Returns::when_done) host_waits_for_this();
}

bool wants_touches() {
  return is_on() && (several_devices() || State::get().has_streams || watches_host());
}

} // namespace warpfold::runtime::ordering
