#include "queue.hpp"

#include "info.hpp"

#include <algorithm>
#include <set>

namespace warpfold::opencl {
namespace {

// All queues that exist, guarded by the state's lock.
std::set<_cl_command_queue*>& queues() {
  static auto& all = *new std::set<_cl_command_queue*>;
  return all;
}

bool may_be_issued(const Command& command) {
  return std::all_of(command.waits.begin(), command.waits.end(),
                     [](const Ref<_cl_event>& wait) { return wait->issued; });
}

void settle(const Command& command, cl_int result) {
  if (!command.event) return;
  command.event->issued = true;
  command.event->settled = result;
}

cudaEvent_t recorded(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  require_cuda(cudaEventCreate(&event));
  require_cuda(cudaEventRecord(event, stream));
  return event;
}

// Hands a command to the queue's stream. Throws Refusal.
void issue(_cl_command_queue& queue, const Command& command) {
  const OnDevice current(queue.device->number);
  for (const Ref<_cl_event>& wait : command.waits) {
    require(!wait->settled || *wait->settled >= 0, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    if (wait->end && wait->queue != &queue) require_cuda(cudaStreamWaitEvent(queue.stream, wait->end, 0));
  }
  if (!command.event) return command.work(queue.stream);
  _cl_event& event = *command.event;
  event.issued_at = host_nanoseconds();
  if (queue.properties & CL_QUEUE_PROFILING_ENABLE) event.begin = recorded(queue.stream);
  command.work(queue.stream);
  event.end = recorded(queue.stream);
  event.issued = true;
}

// Commands whose enqueuing call has returned: an error goes to their event.
void issue_late(_cl_command_queue& queue, const Command& command) {
  const cl_int result = status("a command that waited for a user event", [&] { issue(queue, command); });
  if (result != CL_SUCCESS) settle(command, result);
}

void wait_until_issued(_cl_command_queue& queue, std::unique_lock<std::recursive_mutex>& lock) {
  state().changed.wait(lock, [&] { return queue.held_back.empty(); });
}

void finish(_cl_command_queue& queue) {
  std::unique_lock lock(state().mutex);
  wait_until_issued(queue, lock);
  lock.unlock();
  const OnDevice current(queue.device->number);
  require_cuda(cudaStreamSynchronize(queue.stream));
}

cl_command_queue new_queue(_cl_context& context, _cl_device_id& device, cl_command_queue_properties wanted) {
  require(context.has(device), CL_INVALID_DEVICE, "the device is not one of the context's");
  constexpr cl_command_queue_properties known =
      CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
  require(!(wanted & ~known), CL_INVALID_VALUE);
  auto made = std::make_unique<_cl_command_queue>();
  made->context = Ref(context);
  made->device = &device;
  made->properties = wanted;
  const OnDevice current(device.number);
  require_cuda(cudaStreamCreateWithFlags(&made->stream, cudaStreamNonBlocking));
  if (wanted & CL_QUEUE_PROFILING_ENABLE) {
    made->origin = recorded(made->stream);
    require_cuda(cudaEventSynchronize(made->origin));
    made->origin_at = host_nanoseconds();
  }
  const std::lock_guard lock(state().mutex);
  queues().insert(made.get());
  return made.release();
}

Ref<_cl_event> new_event(_cl_command_queue& queue, cl_command_type type) {
  auto event = std::make_unique<_cl_event>();
  event->context = queue.context;
  event->queue = &queue;
  retain(queue);
  event->type = type;
  event->queued_at = host_nanoseconds();
  return Ref<_cl_event>::to_new(std::move(event));
}

} // namespace

_cl_command_queue& checked_queue(cl_command_queue queue) {
  return checked(queue, CL_INVALID_COMMAND_QUEUE);
}

void enqueue(const Enqueue& to, cl_command_type type, bool blocking, std::function<void(cudaStream_t)> work) {
  _cl_command_queue& queue = checked_queue(to.queue);
  Command command{checked_wait_list(*queue.context, to.wait_count, to.wait_list), std::move(work), {}};
  const bool may_fail_later = blocking && !command.waits.empty();
  if (to.event || may_fail_later) command.event = new_event(queue, type);
  const Ref<_cl_event> event = command.event;
  {
    const std::lock_guard lock(state().mutex);
    if (queue.held_back.empty() && may_be_issued(command))
      issue(queue, command);
    else
      queue.held_back.push_back({std::move(command), Ref(queue)});
  }
  if (blocking) finish(queue);
  require(!may_fail_later || status_of(*event) >= 0, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  if (to.event) *to.event = event.handed_out();
}

void issue_held_back() {
  const std::lock_guard lock(state().mutex);
  std::vector<Ref<_cl_command_queue>> waiting; // a queue may go with its last command
  for (_cl_command_queue* const queue : queues())
    if (!queue->held_back.empty()) waiting.emplace_back(*queue);
  for (bool more = true; more;) {
    more = false;
    for (const Ref<_cl_command_queue>& queue : waiting)
      while (!queue->held_back.empty() && may_be_issued(queue->held_back.front().command)) {
        const HeldBack first = std::move(queue->held_back.front());
        queue->held_back.pop_front();
        issue_late(*queue, first.command);
        more = true;
      }
  }
  state().changed.notify_all();
}

} // namespace warpfold::opencl

using namespace warpfold::opencl;

_cl_command_queue::~_cl_command_queue() {
  const std::lock_guard lock(state().mutex);
  queues().erase(this);
  if (origin) cudaEventDestroy(origin);
  cudaStreamDestroy(stream);
}

extern "C" {

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_command_queue_properties properties, cl_int* code) {
  return created("clCreateCommandQueue", code, [&] {
    return new_queue(checked(context, CL_INVALID_CONTEXT), checked(device, CL_INVALID_DEVICE), properties);
  });
}

cl_int clRetainCommandQueue(cl_command_queue handle) {
  return retain_handle("clRetainCommandQueue", handle, CL_INVALID_COMMAND_QUEUE);
}
cl_int clReleaseCommandQueue(cl_command_queue handle) {
  return release_handle("clReleaseCommandQueue", handle, CL_INVALID_COMMAND_QUEUE);
}

cl_int clGetCommandQueueInfo(cl_command_queue handle, cl_command_queue_info what, size_t room, void* where,
                             size_t* size) {
  return status("clGetCommandQueueInfo", [&] {
    const _cl_command_queue& queue = checked_queue(handle);
    const Info info(room, where, size);
    switch (what) {
    case CL_QUEUE_CONTEXT:
      return info.value(queue.context.get());
    case CL_QUEUE_DEVICE:
      return info.value(queue.device);
    case CL_QUEUE_REFERENCE_COUNT:
      return info.value(queue.references.load());
    case CL_QUEUE_PROPERTIES:
      return info.value(queue.properties);
    default:
      throw Refusal(CL_INVALID_VALUE);
    }
  });
}

// Of OpenCL 1.0, and left out since: a queue's properties are those that it was created with.
cl_int clSetCommandQueueProperty(cl_command_queue handle, cl_command_queue_properties, cl_bool,
                                 cl_command_queue_properties*) {
  return status("clSetCommandQueueProperty", [&] {
    checked_queue(handle);
    throw Refusal(CL_INVALID_OPERATION, "a queue's properties cannot be changed since OpenCL 1.1");
  });
}

cl_int clFlush(cl_command_queue handle) {
  return status("clFlush", [&] { checked_queue(handle); }); // commands are issued as they are enqueued
}
cl_int clFinish(cl_command_queue handle) {
  return status("clFinish", [&] { finish(checked_queue(handle)); });
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* list,
                                   cl_event* event) {
  return status("clEnqueueMarkerWithWaitList", [&] {
    enqueue({queue, count, list, event}, CL_COMMAND_MARKER, false, [](cudaStream_t) {});
  });
}
cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* list,
                                    cl_event* event) {
  return status("clEnqueueBarrierWithWaitList", [&] {
    enqueue({queue, count, list, event}, CL_COMMAND_BARRIER, false, [](cudaStream_t) {});
  });
}
cl_int clEnqueueMarker(cl_command_queue queue, cl_event* event) {
  return status("clEnqueueMarker", [&] {
    checked_queue(queue);
    require(event != nullptr, CL_INVALID_VALUE);
    enqueue({queue, 0, nullptr, event}, CL_COMMAND_MARKER, false, [](cudaStream_t) {});
  });
}
cl_int clEnqueueBarrier(cl_command_queue queue) {
  return status("clEnqueueBarrier", [&] {
    enqueue({queue, 0, nullptr, nullptr}, CL_COMMAND_BARRIER, false, [](cudaStream_t) {});
  });
}
cl_int clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event* list) {
  return status("clEnqueueWaitForEvents", [&] {
    require(count > 0 && list, CL_INVALID_VALUE);
    enqueue({queue, count, list, nullptr}, CL_COMMAND_BARRIER, false, [](cudaStream_t) {});
  });
}
}
