// Which streams exist, and which one waits for which.
#include "runtime/ordering/ordering_state.hpp"

#include "runtime/devices/devices.hpp"
#include "runtime/reporting/call_sites.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/streams/stream_table.hpp"

#include <fmt/format.h>

extern "C" {
unsigned char warpfold_default_stream_is_per_thread = 0;
}

namespace warpfold::runtime::ordering {

namespace {

struct ThreadsStream {
  unsigned order = 0;
  ~ThreadsStream() {
    if (!order) return;
    State& state = State::get();
    std::lock_guard lock(state.mutex);
    state.order.remove_stream(order);
  }
};

} // namespace

analysis::HostOrder::Stream legacy_of(State& state, int device) {
  auto& number = state.legacy[static_cast<std::size_t>(device)];
  if (number == 0) number = device == 0 ? analysis::HostOrder::legacy : state.order.add_device();
  return number;
}

bool is_per_thread(cudaStream_t stream) {
  return stream == cudaStreamPerThread || (stream == nullptr && warpfold_default_stream_is_per_thread);
}

bool is_default(cudaStream_t stream) {
  return !is_per_thread(stream) && (stream == nullptr || stream == cudaStreamLegacy);
}

analysis::HostOrder::Stream number_of(State& state, cudaStream_t handle) {
  if (is_per_thread(handle)) {
    thread_local ThreadsStream own[machine::most_devices];
    unsigned& order = own[current_device()].order;
    if (!order) order = state.order.add_stream(true, legacy_of(state, current_device()));
    state.has_streams = true;
    return order;
  }
  if (is_default(handle)) return legacy_of(state, current_device());
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  Stream& stream = table.stream(handle);
  if (!stream.order)
    stream.order = state.order.add_stream(stream.blocking(), legacy_of(state, stream.device));
  state.has_streams = true;
  return stream.order;
}

std::string name_of(cudaStream_t handle) {
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  const Stream& stream = table.stream(handle);
  const std::string device = several_devices() ? fmt::format(" of device {}", stream.device) : "";
  if (is_per_thread(handle)) return "the thread's default stream" + device;
  if (is_default(handle)) return "the default stream" + device;
  return fmt::format("stream {}{}", stream.id, device);
}

namespace {

template <typename Body>
void change(Body body) {
  if (!is_on()) return;
  State& state = State::get();
  std::scoped_lock lock(StreamTable::get().mutex, state.mutex);
  note_host_accesses();
  learn_from_host_functions(state);
  body(state);
  if (!current) close_what_is_in_flight(state, nullptr);
}

} // namespace

void host_waits_for_stream(cudaStream_t stream) {
  change([&](State& state) { state.order.host_waits(number_of(state, stream)); });
}

void host_waits_for_device(int device) {
  change([=](State& state) { state.order.host_waits_for_device(legacy_of(state, device)); });
}

void host_waits_for_all() {
  change([](State& state) { state.order.host_waits_for_all(); });
}

namespace {

bool is_ready(const State& state, analysis::Clock& asked, const analysis::Clock& over) {
  if (state.order.host_knows(over)) return true;
  const bool is_asked_again = asked == over;
  asked = over;
  if (is_asked_again) Runtime::get().recorder.add_host_wait();
  return is_asked_again;
}

} // namespace

bool is_ready(cudaStream_t handle) {
  if (!is_on()) return true;
  State& state = State::get();
  std::scoped_lock lock(StreamTable::get().mutex, state.mutex);
  const analysis::HostOrder::Stream number = number_of(state, handle);
  return is_ready(state, state.asked[number], state.order.record(number));
}

bool is_ready(Event& event) {
  if (!is_on()) return true;
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  return is_ready(state, event.asked, event.over);
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

// A loop that first waits and then records is right: only an event that is never recorded is reported.
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

// From now on, work in the default stream may run beside that of another one.
void stream_created(unsigned flags) {
  if (!(flags & cudaStreamNonBlocking)) return;
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  state.has_streams = true;
}

void stream_destroyed(unsigned order) {
  if (!order) return;
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  state.order.remove_stream(order);
}

} // namespace warpfold::runtime::ordering
