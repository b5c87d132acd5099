#include "events.hpp"

#include "info.hpp"
#include "queue.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace warpfold::opencl {

State& state() {
  static State& only = *new State;
  return only;
}

cl_ulong host_nanoseconds() {
  return static_cast<cl_ulong>(std::chrono::steady_clock::now().time_since_epoch() /
                               std::chrono::nanoseconds(1));
}

cl_int status_of(_cl_event& event) {
  const std::lock_guard lock(state().mutex);
  if (event.settled) return *event.settled;
  if (!event.issued) return event.queue ? CL_QUEUED : CL_SUBMITTED;
  const OnDevice current(event.queue->device->number);
  const cudaError_t result = cudaEventQuery(event.end);
  if (result == cudaErrorNotReady) return CL_RUNNING;
  event.settled = result == cudaSuccess ? CL_COMPLETE : CL_OUT_OF_RESOURCES;
  return *event.settled;
}

void wait_for(_cl_event& event) {
  std::unique_lock lock(state().mutex);
  state().changed.wait(lock, [&] { return event.issued; });
  lock.unlock();
  if (!event.end) return;
  const OnDevice current(event.queue->device->number);
  require_cuda(cudaEventSynchronize(event.end));
}

std::vector<Ref<_cl_event>> checked_wait_list(const _cl_context& context, cl_uint count,
                                              const cl_event* list) {
  require((count > 0) == (list != nullptr), CL_INVALID_EVENT_WAIT_LIST);
  std::vector<Ref<_cl_event>> waits;
  for (cl_uint i = 0; i < count; ++i) {
    waits.emplace_back(checked(list[i], CL_INVALID_EVENT_WAIT_LIST));
    require(waits.back()->context.get() == &context, CL_INVALID_CONTEXT,
            "an event of the wait list is of another context");
  }
  return waits;
}

namespace {

cl_ulong elapsed_nanoseconds(cudaEvent_t from, cudaEvent_t to) {
  float milliseconds = 0;
  require_cuda(cudaEventElapsedTime(&milliseconds, from, to), CL_PROFILING_INFO_NOT_AVAILABLE);
  return static_cast<cl_ulong>(1e6 * std::max(0.0F, milliseconds));
}

// CUDA's events tell how long after each other they were; the queue's origin places them on the host's clock.
cl_ulong began_at(const _cl_event& event) {
  return std::max(event.issued_at,
                  event.queue->origin_at + elapsed_nanoseconds(event.queue->origin, event.begin));
}

cl_ulong profiled(_cl_event& event, cl_profiling_info what) {
  require(event.queue && event.begin && status_of(event) == CL_COMPLETE, CL_PROFILING_INFO_NOT_AVAILABLE);
  const OnDevice current(event.queue->device->number);
  switch (what) {
  case CL_PROFILING_COMMAND_QUEUED:
    return event.queued_at;
  case CL_PROFILING_COMMAND_SUBMIT:
    return event.issued_at;
  case CL_PROFILING_COMMAND_START:
    return began_at(event);
  case CL_PROFILING_COMMAND_END:
    return began_at(event) + elapsed_nanoseconds(event.begin, event.end);
  default:
    throw Refusal(CL_INVALID_VALUE);
  }
}

// Calls it in a thread of its own, since it may take any time and call OpenCL.
void call_later(_cl_event& event, cl_int wanted, void (*call)(cl_event, cl_int, void*), void* data) {
  std::thread([held = Ref(event), wanted, call, data] {
    if (wanted == CL_COMPLETE) {
      status("a callback", [&] { wait_for(*held); });
    } else {
      std::unique_lock lock(state().mutex);
      state().changed.wait(lock, [&] { return held->issued; });
    }
    const cl_int now = status_of(*held);
    call(held.get(), now < 0 ? now : wanted, data);
  }).detach();
}

} // namespace
} // namespace warpfold::opencl

using namespace warpfold::opencl;

_cl_event::~_cl_event() {
  if (begin) cudaEventDestroy(begin);
  if (end) cudaEventDestroy(end);
  if (queue) release(*queue);
}

extern "C" {

cl_event clCreateUserEvent(cl_context handle, cl_int* code) {
  return created("clCreateUserEvent", code, [&]() -> cl_event {
    auto made = std::make_unique<_cl_event>();
    made->context = Ref(checked(handle, CL_INVALID_CONTEXT));
    return made.release();
  });
}

cl_int clSetUserEventStatus(cl_event handle, cl_int result) {
  return status("clSetUserEventStatus", [&] {
    _cl_event& event = checked(handle, CL_INVALID_EVENT);
    require(!event.queue, CL_INVALID_EVENT, "not a user event");
    require(result <= CL_COMPLETE, CL_INVALID_VALUE);
    const std::lock_guard lock(state().mutex);
    require(!event.settled, CL_INVALID_OPERATION, "the event has its status already");
    event.settled = result;
    event.issued = true;
    issue_held_back();
  });
}

cl_int clWaitForEvents(cl_uint count, const cl_event* list) {
  return status("clWaitForEvents", [&] {
    require(count > 0 && list, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < count; ++i) checked(list[i], CL_INVALID_EVENT);
    for (cl_uint i = 1; i < count; ++i)
      require(list[i]->context.get() == list[0]->context.get(), CL_INVALID_CONTEXT);
    for (cl_uint i = 0; i < count; ++i) wait_for(*list[i]);
    for (cl_uint i = 0; i < count; ++i)
      require(status_of(*list[i]) >= 0, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  });
}

cl_int clRetainEvent(cl_event handle) {
  return retain_handle("clRetainEvent", handle, CL_INVALID_EVENT);
}
cl_int clReleaseEvent(cl_event handle) {
  return release_handle("clReleaseEvent", handle, CL_INVALID_EVENT);
}

cl_int clSetEventCallback(cl_event handle, cl_int wanted, void (*call)(cl_event, cl_int, void*), void* data) {
  return status("clSetEventCallback", [&] {
    _cl_event& event = checked(handle, CL_INVALID_EVENT);
    require(call && wanted >= CL_COMPLETE && wanted <= CL_SUBMITTED, CL_INVALID_VALUE);
    const cl_int now = status_of(event);
    if (now > CL_COMPLETE) return call_later(event, wanted, call, data);
    call(handle, now < 0 ? now : wanted, data);
  });
}

cl_int clGetEventInfo(cl_event handle, cl_event_info what, size_t room, void* where, size_t* size) {
  return status("clGetEventInfo", [&] {
    _cl_event& event = checked(handle, CL_INVALID_EVENT);
    const Info info(room, where, size);
    switch (what) {
    case CL_EVENT_COMMAND_QUEUE:
      return info.value(event.queue);
    case CL_EVENT_CONTEXT:
      return info.value(event.context.get());
    case CL_EVENT_COMMAND_TYPE:
      return info.value(event.type);
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
      return info.value(status_of(event));
    case CL_EVENT_REFERENCE_COUNT:
      return info.value(event.references.load());
    default:
      throw Refusal(CL_INVALID_VALUE);
    }
  });
}

cl_int clGetEventProfilingInfo(cl_event handle, cl_profiling_info what, size_t room, void* where,
                               size_t* size) {
  return status("clGetEventProfilingInfo",
                [&] { Info(room, where, size).value(profiled(checked(handle, CL_INVALID_EVENT), what)); });
}
}
