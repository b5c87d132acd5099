// Which streams exist, and which one waits for which.
#include "ordering_state.hpp"

#include "call_sites.hpp"
#include "errors.hpp"
#include "stream_table.hpp"

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

void stream_destroyed(unsigned order) {
  if (!order) return;
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  state.order.remove_stream(order);
}

} // namespace warpfold::runtime::ordering
