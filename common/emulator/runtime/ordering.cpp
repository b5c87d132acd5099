#include "ordering.hpp"

#include "call_sites.hpp"
#include "errors.hpp"
#include "host_faults.hpp"
#include "memory_check.hpp"
#include "runtime.hpp"
#include "stream_table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>
#include <utility>

extern "C" {
unsigned char warpfold_default_stream_is_per_thread = 0;
}

namespace warpfold::runtime::ordering {
namespace {

using machine::MemoryKind;
using watch::HazardCause;
using watch::HazardKind;
using watch::Operation;
using watch::Touch;
using watch::TouchedRange;

// What is being done on a thread.
struct Current {
  Operation operation;
  watch::HostOrder::Stream stream = 0;
  bool host_waits = false;
  bool in_graph = false;
  bool in_own_stream = false; // one that the program made
  Current* outer = nullptr;
};
thread_local Current* current = nullptr;

struct State {
  std::recursive_mutex mutex;
  watch::HostOrder order;
  bool has_streams = false; // others than the one that waits for all
  bool told_of_pageable = false;
  bool closed = false;                                                  // some of the host's memory
  std::set<std::tuple<std::string, std::string, std::string>> reported; // two places, and what is wrong

  static State& get() {
    static State& state = *new State;
    return state;
  }
};

bool is_on() {
  return Runtime::get().options.check_races.load(std::memory_order_relaxed);
}

// ---- streams

struct ThreadsStream {
  unsigned order = 0;
  ~ThreadsStream() {
    if (!order) return;
    State& state = State::get();
    std::lock_guard lock(state.mutex);
    state.order.remove_stream(order);
  }
};

bool is_per_thread(cudaStream_t stream) {
  return stream == cudaStreamPerThread || (stream == nullptr && warpfold_default_stream_is_per_thread);
}

watch::HostOrder::Stream number_of(State& state, cudaStream_t handle) {
  if (is_per_thread(handle)) {
    thread_local ThreadsStream own;
    if (!own.order) own.order = state.order.add_stream(true);
    state.has_streams = true;
    return own.order;
  }
  if (handle == nullptr || handle == cudaStreamLegacy) return watch::HostOrder::legacy;
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  Stream& stream = table.stream(handle);
  if (!stream.order) stream.order = state.order.add_stream(!(stream.flags & cudaStreamNonBlocking));
  state.has_streams = true;
  return stream.order;
}

std::string name_of(cudaStream_t handle) {
  if (is_per_thread(handle)) return "the thread's default stream";
  if (handle == nullptr || handle == cudaStreamLegacy) return "the default stream";
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  return fmt::format("stream {}", table.stream(handle).id);
}

// ---- what is said

const char* verb(Touch touch) {
  return touch == Touch::read || touch == Touch::strong_read ? "reads" : "writes";
}

std::string place_of(std::uint64_t address) {
  const auto allocation = Runtime::get().memory.nearest(address); // freed, perhaps
  if (!allocation || address < allocation->begin || address >= allocation->end())
    return fmt::format("0x{:x}", address);
  return fmt::format("byte {} of {}",
                     address - std::min(address, std::max(allocation->begin, allocation->origin)),
                     allocation->label);
}

void add(HazardCause cause, const std::string& message, const Operation* later, const Operation* earlier,
         HazardKind kind = HazardKind::race_host) {
  watch::Hazard hazard{kind, cause, message};
  const auto line = [](const Operation& operation) {
    return line_of(operation.frames, operation.is_kernel ? operation.name : std::string());
  };
  if (later) hazard.where = line(*later);
  if (earlier) hazard.other = line(*earlier);
  if (!hazard.where.line) std::swap(hazard.where, hazard.other);
  Runtime::get().recorder.add(std::move(hazard));
}

std::string site_of(const Operation& operation) {
  std::string text = operation.name + operation.where;
  for (const std::uint64_t frame : operation.frames) text += fmt::format(" {:x}", frame);
  return text;
}

bool is_new(State& state, const std::string& a, const std::string& b, const std::string& what) {
  constexpr std::size_t most = 100; // each takes a look at the program's debug information
  return state.reported.size() < most && state.reported.emplace(a, b, what).second;
}

void report_streams(State& state, const Operation& earlier, const TouchedRange& other, const Operation& later,
                    const TouchedRange& mine) {
  if (!is_new(state, site_of(earlier), site_of(later), "")) return;
  add(HazardCause::streams_not_ordered,
      fmt::format("{} in {} {} {}, which {} in {} {}; nothing orders the two", later.name, later.where,
                  verb(mine.touch), place_of(std::max(mine.begin, other.begin)), earlier.name, earlier.where,
                  verb(other.touch)),
      &later, &earlier);
}

// The instruction, and the calls around it; not the handler's.
std::vector<std::uint64_t> frames_of(const HostFault& fault) {
  std::vector<std::uint64_t> frames{fault.at};
  bool inside = false;
  for (int i = 0; i < fault.frame_count; ++i) {
    const auto frame = reinterpret_cast<std::uint64_t>(fault.frames[i]);
    if (inside) frames.push_back(frame - 1);
    inside |= frame == fault.at;
  }
  return frames;
}

void report_host(State& state, const HostFault& fault, const Operation& earlier, const TouchedRange& other) {
  Operation host;
  host.frames = frames_of(fault);
  host.name = current ? fmt::format("the host function in {}", current->operation.where) : "the host";
  if (!is_new(state, site_of(earlier), site_of(host), fault.is_write ? "writes" : "reads")) return;
  const bool wrote = other.touch == Touch::write || other.touch == Touch::strong_write;
  add(HazardCause::not_waited_for,
      fmt::format("{} {} {} while {} in {} may still {} it", host.name, fault.is_write ? "writes" : "reads",
                  place_of(fault.address), earlier.name, earlier.where, wrote ? "write" : "read"),
      &host, &earlier);
}

void report_device_memory(State& state, const HostFault& fault) {
  const std::vector<std::uint64_t> frames = frames_of(fault);
  if (!is_new(state, fmt::format("{:x}", fault.at), "", fault.is_write ? "writes" : "reads")) return;
  const std::string message =
      fmt::format("the host {} device memory at 0x{:x}: {}", fault.is_write ? "writes" : "reads",
                  fault.address, place_of(fault.address));
  watch::Hazard hazard{HazardKind::host_access, HazardCause::device_memory_on_host, message};
  hazard.where = line_of(frames, "");
  const Options& options = Runtime::get().options;
  if (!options.check_races && !options.check_initialisation) {
    const std::string where =
        hazard.where.line ? fmt::format("{}:{}: ", hazard.where.file, hazard.where.line) : std::string();
    say(fmt::format("{}{}; copy it with cudaMemcpy", where, message));
  }
  Runtime::get().recorder.add(std::move(hazard));
}

// ---- closing memory to the host

BusyRange busy(const TouchedRange& range) {
  constexpr std::uint64_t page = 4096;
  BusyRange busy{.begin = range.begin, .end = range.end};
  busy.written = range.touch == Touch::write || range.touch == Touch::strong_write;
  busy.first_page = range.begin / page * page;
  busy.pages_end = (range.end + page - 1) / page * page;
  const auto allocation = Runtime::get().memory.find(range.begin);
  if (!allocation) return {};                       // freed since
  if (allocation->kind == MemoryKind::registered) { // other memory may lie around it
    busy.first_page = std::max(busy.first_page, (allocation->begin + page - 1) / page * page);
    busy.pages_end = std::min(busy.pages_end, allocation->end() / page * page);
  }
  return busy;
}

// Strong accesses are meant to meet with the host's.
void close_what_is_in_flight(State& state, const watch::Clock* view) {
  std::vector<BusyRange> ranges;
  state.order.each_in_flight(view, [&](const Operation&, const TouchedRange& range) {
    if (range.touch == Touch::strong_read || range.touch == Touch::strong_write) return;
    if (BusyRange here = busy(range); here.first_page < here.pages_end) ranges.push_back(here);
  });
  if (ranges.empty() && !state.closed) return;
  state.closed = !ranges.empty();
  close_to_host(std::move(ranges));
}

void open_to_all(State& state) {
  if (std::exchange(state.closed, false)) close_to_host({});
}

// ---- one operation

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
  if (!current || size == 0 || !allocation_of(begin)) return; // pageable memory: the call has copied it
  current->operation.touched.push_back({address, address + size, how, is_of_host(address)});
}

// Host functions run on a thread of the runtime's: they may touch what is over by then, and nothing else.
void before_work(State& state, Current& mine, cudaGraphNodeType type) {
  mine.outer = current;
  current = &mine;
  if (type == cudaGraphNodeTypeHost)
    close_what_is_in_flight(state, &mine.operation.view);
  else
    open_to_all(state);
}

void after_work(State& state, Current& mine) {
  note_host_accesses();
  current = mine.outer;
  for (TouchedRange& range : mine.operation.touched)
    if (range.end > range.begin && !range.of_host) range.of_host = is_of_host(range.begin);
  const Operation& done = mine.operation;
  state.order.finish(done,
                     [&](const Operation& earlier, const TouchedRange& other, const Operation& later,
                         const TouchedRange& range) { report_streams(state, earlier, other, later, range); });
}

cudaError_t do_work(cudaGraphNodeType type, const Work& work) {
  const DeviceMemoryInUse use(type != cudaGraphNodeTypeHost && type != cudaGraphNodeTypeGraph);
  return work ? work() : cudaSuccess;
}

} // namespace

cudaError_t carry_out(cudaStream_t handle, cudaGraphNodeType type, const Work& work) {
  if (!is_on() || current) return do_work(type, work); // inside of a graph's node: part of that
  State& state = State::get();
  Current mine;
  {
    std::lock_guard lock(state.mutex);
    note_host_accesses();
    mine.stream = number_of(state, handle);
    mine.operation = state.order.issue(mine.stream);
    mine.operation.name = current_call();
    mine.operation.where = name_of(handle);
    mine.in_own_stream = mine.stream != watch::HostOrder::legacy && !is_per_thread(handle);
    if (type != cudaGraphNodeTypeKernel || wants_touches()) mine.operation.frames = callers();
    before_work(state, mine, type);
  }
  const cudaError_t error = do_work(type, work);
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
  Current& launch = *current;
  const Operation begin = launch.operation;
  std::vector<Operation> ends(steps.size());
  std::vector<bool> continued(steps.size() + 1); // the last: the launch's own beginning
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
      before_work(state, mine, steps[i].type);
    }
    const cudaError_t error = do_work(steps[i].type, *steps[i].work);
    std::lock_guard lock(state.mutex);
    after_work(state, mine);
    ends[i] = std::move(mine.operation);
    ends[i].touched.clear();
    for (std::size_t each = 0; each < ends[i].view.size(); ++each) {
      auto& over = launch.operation.view;
      if (over.size() <= each) over.resize(each + 1);
      over[each] = std::max(over[each], ends[i].view[each]);
    }
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

// Whoever copies in a stream of its own means to go on meanwhile. Not for what goes through the driver's
// buffer in one piece, as libraries' own small copies do.
void advise_against_pageable(std::size_t size) {
  constexpr std::size_t one_piece = 64 << 10;
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  if (size <= one_piece || current->in_graph || !current->in_own_stream) return;
  if (std::exchange(state.told_of_pageable, true)) return;
  const Operation& copy = current->operation;
  add(HazardCause::pageable_memory,
      fmt::format("{} in {} copies memory from malloc, new or the stack, and so may wait until it is done",
                  copy.name, copy.where),
      &copy, nullptr, HazardKind::pageable_copy);
}

} // namespace

// "API synchronization behavior" of the CUDA Runtime API. Lenient where it says "may": a blocking copy from
// pageable memory counts as over, although its last bytes may still be on their way to the device.
void copies(void* destination, const void* source, std::size_t size, bool blocking) {
  if (!current || size == 0) return;
  reads(source, size);
  writes(destination, size);
  const Side to = side_of(destination), from = side_of(source);
  const bool pageable = to == Side::pageable || from == Side::pageable;
  if (pageable && !blocking && to != from) advise_against_pageable(size);
  if (pageable || (blocking && !(to == Side::device && from == Side::device))) host_waits_for_this();
}

void fills(void* destination, std::size_t size, bool blocking) {
  if (!current || size == 0) return;
  writes(destination, size);
  if (blocking && side_of(destination) == Side::host) host_waits_for_this();
}

bool wants_touches() {
  Runtime& runtime = Runtime::get();
  return is_on() &&
         (State::get().has_streams || runtime.memory.of_host() != 0 || runtime.registry.has_managed());
}

namespace {

template <typename Body>
void change(Body body) {
  if (!is_on()) return;
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  note_host_accesses();
  body(state);
  if (!current) close_what_is_in_flight(state, nullptr);
}

} // namespace

void host_waits_for_stream(cudaStream_t stream) {
  change([&](State& state) { state.order.host_waits(number_of(state, stream)); });
}

void host_waits_for_all() {
  change([](State& state) { state.order.host_waits_for_all(); });
}

void event_recorded(Event& event, cudaStream_t stream) {
  change([&](State& state) { event.over = state.order.record(number_of(state, stream)); });
}

namespace {

void note_wait(Event& event) {
  if (event.ever_recorded || !event.waited_for.empty()) return;
  event.waited_for = current_call();
  event.waiters = callers();
}

} // namespace

void host_waits_for_event(Event& event) {
  change([&](State& state) {
    note_wait(event);
    state.order.host_waits(event.over);
  });
}

void stream_waits_for_event(cudaStream_t stream, Event& event) {
  change([&](State& state) {
    note_wait(event);
    state.order.stream_waits(number_of(state, stream), event.over);
  });
}

// A loop that waits first and records then is right: only what is never recorded is told of.
void event_destroyed(const Event& event) {
  if (!is_on() || event.ever_recorded || event.waited_for.empty()) return;
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  Operation waits;
  waits.frames = event.waiters;
  waits.name = event.waited_for;
  if (!is_new(state, site_of(waits), "", "never recorded")) return;
  add(HazardCause::event_never_recorded,
      fmt::format("{} waits for an event that is never recorded, and so for nothing", event.waited_for),
      &waits, nullptr);
}

void allocated(const void* begin, std::size_t size) {
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  change([&](State& state) { state.order.forget(address, address + size); });
}

void stream_destroyed(unsigned order) {
  if (!order) return;
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  state.order.remove_stream(order);
}

void forget_reports() {
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  state.reported.clear();
  state.told_of_pageable = false;
}

void note_host_accesses() {
  const std::vector<HostFault> faults = take_host_faults();
  if (faults.empty()) return;
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  for (const HostFault& fault : faults) {
    if (fault.of_device) {
      report_device_memory(state, fault);
      continue;
    }
    bool told = false;
    state.order.each_in_flight(current ? &current->operation.view : nullptr, [&](const Operation& operation,
                                                                                 const TouchedRange& range) {
      const bool wrote = range.touch == Touch::write;
      if (told || fault.address < range.begin || fault.address >= range.end || !(fault.is_write || wrote))
        return;
      report_host(state, fault, operation, range);
      told = true;
    });
  }
}

} // namespace warpfold::runtime::ordering
