// Events. With one device, an event is complete as soon as it is recorded (streams.hpp explains why); its
// time is the host's clock.
#include "runtime/devices/devices.hpp"
#include "runtime/graphs/graph_work.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/stream_table.hpp"

#include <fmt/format.h>

namespace warpfold::runtime {

Event& StreamTable::event(cudaEvent_t handle) {
  auto found = events.find(handle);
  if (found == events.end())
    throw Refusal(cudaErrorInvalidResourceHandle,
                  "the event was never created or has already been destroyed");
  return *found->second;
}

Point Event::point() const {
  return shared ? SharedEvent::last(shared) : over_at;
}

namespace {

template <typename Body>
cudaError_t with_event(const char* caller, cudaEvent_t handle, Body body) {
  return entry(caller, [&] {
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    return body(table, table.event(handle));
  });
}

cudaError_t create(const char* caller, cudaEvent_t* handle, unsigned flags) {
  return entry(caller, [&] {
    constexpr unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (!handle || (flags & ~known)) return cudaErrorInvalidValue;
    if (flags & cudaEventInterprocess && !(flags & cudaEventDisableTiming)) return cudaErrorInvalidValue;
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    auto event = std::make_unique<Event>();
    event->flags = flags;
    event->device = current_device();
    if (flags & cudaEventInterprocess) event->shared = std::make_shared<SharedEvent>();
    *handle = reinterpret_cast<cudaEvent_t>(event.get());
    table.events[event.get()] = std::move(event);
    return cudaSuccess;
  });
}

// The moment comes when the stream gets there, at once if it has nothing left to do.
void record(StreamTable& table, Event& event, Stream& stream) {
  event.recorded = true;
  event.time = std::make_shared<EventTime>(std::chrono::steady_clock::now());
  event.over_at = nullptr;
  const std::uint64_t number = event.shared ? event.shared->record() : 0;
  const auto pass = [time = event.time, shared = event.shared, number] {
    *time = std::chrono::steady_clock::now();
    if (shared) shared->pass(number);
  };
  if (!works_later() && is_over(stream.queue.last())) return pass();
  if (event.device != stream.device)
    throw Refusal(cudaErrorInvalidResourceHandle,
                  fmt::format("the event belongs to device {}, but the stream to device {}: record it in a "
                              "stream of device {}, or call cudaSetDevice({}) before cudaEventCreate",
                              event.device, stream.device, event.device, stream.device));
  event.over_at = stream.queue.push(table.before_work_in(stream), pass);
  stream.awaited.clear();
}

cudaError_t record(const char* caller, cudaEvent_t handle, cudaStream_t stream_handle) {
  return with_event(caller, handle, [&](StreamTable& table, Event& event) {
    Stream& stream = table.stream(stream_handle);
    event.place = stream.place.capturing() ? stream.place : CapturePlace{};
    event.ever_recorded = true;
    if (!event.place.capturing()) {
      record(table, event, stream);
      ordering::event_recorded(event, stream_handle);
    }
    return cudaSuccess;
  });
}

[[noreturn]] void refuse_captured() {
  throw Refusal(cudaErrorCapturedEvent, "the event was last recorded in a captured stream");
}

// When everything before the event is done; null if it never was recorded, as CUDA specifies.
cudaError_t find_point(const char* caller, cudaEvent_t handle, Point& point) {
  return with_event(caller, handle, [&](StreamTable&, Event& event) {
    if (event.place.capture) {
      event.place.capture->invalidated = true;
      refuse_captured();
    }
    point = event.point();
    return cudaSuccess;
  });
}

cudaError_t has_waited(const char* caller, cudaEvent_t handle) {
  return with_event(caller, handle, [](StreamTable&, Event& event) {
    ordering::host_waits_for_event(event);
    return sticky_error();
  });
}

} // namespace

void check_event(cudaEvent_t event) {
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  table.event(event);
}

void record_event(cudaEvent_t handle, cudaStream_t stream_handle, std::shared_ptr<EventTime> time) {
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  Event& event = table.event(handle);
  event.place = {};
  event.ever_recorded = true;
  record(table, event, table.stream(stream_handle));
  event.time = std::move(time);
  ordering::event_recorded(event, stream_handle);
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return create("cudaEventCreate", event, 0);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return create("cudaEventCreateWithFlags", event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return with_event("cudaEventDestroy", handle, [&](StreamTable& table, Event& event) {
    ordering::event_destroyed(event);
    table.events.erase(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record("cudaEventRecord", event, stream);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (flags & ~unsigned{cudaEventRecordExternal}) return remember(cudaErrorInvalidValue);
  if (flags == 0) return record("cudaEventRecordWithFlags", event, stream);
  return entry("cudaEventRecordWithFlags", [&] {
    if (!is_captured(stream)) return cudaErrorIllegalState;
    return submit(stream, cudaGraphNodeTypeEventRecord, event_work(event));
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  Point point;
  if (const cudaError_t error = find_point("cudaEventQuery", event, point); error != cudaSuccess)
    return error;
  if (!is_over(point)) return cudaErrorNotReady;
  return with_event("cudaEventQuery", event, [](StreamTable&, Event& queried) {
    if (!ordering::is_ready(queried)) return cudaErrorNotReady;
    ordering::host_waits_for_event(queried);
    return sticky_error();
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Point point;
  if (const cudaError_t error = find_point("cudaEventSynchronize", event, point); error != cudaSuccess)
    return error;
  Runtime::get().recorder.add_host_wait();
  wait_for(point);
  return has_waited("cudaEventSynchronize", event);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin_handle, cudaEvent_t end_handle) {
  return with_event("cudaEventElapsedTime", begin_handle, [&](StreamTable& table, Event& begin) {
    Event& end = table.event(end_handle);
    if (!milliseconds) return cudaErrorInvalidValue;
    if (begin.place.capture || end.place.capture) refuse_captured();
    if (!begin.recorded || !end.recorded)
      throw Refusal(cudaErrorInvalidResourceHandle, "both events must be recorded first");
    if ((begin.flags | end.flags) & cudaEventDisableTiming)
      throw Refusal(cudaErrorInvalidResourceHandle,
                    "an event created with cudaEventDisableTiming has no time");
    if (begin.device != end.device)
      throw Refusal(cudaErrorInvalidResourceHandle, "the events belong to different devices");
    if (!is_over(begin.over_at) || !is_over(end.over_at)) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(*end.time - *begin.time).count();
    return cudaSuccess;
  });
}
}
