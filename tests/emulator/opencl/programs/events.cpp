// Events: what waits for what, user events, callbacks and times.
#include "opencl.hpp"

#include <array>
#include <atomic>
#include <thread>

constexpr const char* source = "kernel void add(global int* value, int more) { *value += more; }\n"
                               "kernel void twice(global int* value) { *value *= 2; }\n";

cl_int status_of(cl_event event) {
  cl_int status = 99;
  require(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
          "clGetEventInfo");
  return status;
}

void times(const Session& session, cl_kernel add) {
  cl_event event = nullptr;
  SHOW(clEnqueueTask(session.queue, add, 0, nullptr, &event));
  SHOW(clWaitForEvents(1, &event));
  std::array<cl_ulong, 4> at{};
  for (cl_uint i = 0; i < 4; ++i)
    SHOW(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i, sizeof at[i], &at[i], nullptr));
  SHOW_VALUE(at[0] <= at[1] && at[1] <= at[2] && at[2] < at[3]);
  SHOW_VALUE(at[3] - at[0] < 10'000'000'000);
  cl_command_type type = 0;
  SHOW(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr));
  SHOW_VALUE(type == CL_COMMAND_TASK);
  SHOW(clReleaseEvent(event));
}

// Nothing behind a user event runs before the event has its status.
void user_events(const Session& session, cl_kernel add, cl_kernel twice, cl_mem value) {
  cl_int error = CL_SUCCESS;
  const cl_event go = clCreateUserEvent(session.context, &error);
  SHOW(error);
  std::array<cl_event, 2> events{};
  SHOW(clEnqueueTask(session.queue, add, 1, &go, events.data()));
  SHOW(clEnqueueTask(session.queue, twice, 0, nullptr, &events[1]));
  SHOW_VALUE(status_of(events[0]) == CL_QUEUED);
  SHOW_VALUE(status_of(events[1]) == CL_QUEUED);
  std::atomic<int> called = 0;
  SHOW(clSetEventCallback(
      events[1], CL_COMPLETE,
      [](cl_event, cl_int status, void* where) {
        *static_cast<std::atomic<int>*>(where) = status == CL_COMPLETE ? 1 : 2;
      },
      &called));
  SHOW_VALUE(called);
  std::thread other([&] { clSetUserEventStatus(go, CL_COMPLETE); });
  SHOW(clWaitForEvents(2, events.data()));
  other.join();
  SHOW_VALUE(session.contents<int>(value, 1)[0]);
  while (called == 0) std::this_thread::yield();
  SHOW_VALUE(called);
  SHOW(clSetUserEventStatus(go, CL_COMPLETE));
  for (const cl_event event : {go, events[0], events[1]}) clReleaseEvent(event);
}

void failing(const Session& session, cl_kernel twice, cl_mem value) {
  const cl_event never = clCreateUserEvent(session.context, nullptr);
  cl_event event = nullptr;
  SHOW(clEnqueueTask(session.queue, twice, 1, &never, &event));
  SHOW(clSetUserEventStatus(never, -7));
  SHOW_VALUE(status_of(never));
  SHOW(status_of(event));
  SHOW(clWaitForEvents(1, &event));
  int unread = 5;
  SHOW(clEnqueueReadBuffer(session.queue, value, CL_TRUE, 0, 4, &unread, 1, &never, nullptr));
  SHOW_VALUE(unread);
  SHOW_VALUE(session.contents<int>(value, 1)[0]); // twice has not run
  clReleaseEvent(never);
  clReleaseEvent(event);
}

void two_queues(const Session& session, cl_kernel add, cl_kernel twice, cl_mem value) {
  cl_int error = CL_SUCCESS;
  const cl_command_queue second =
      clCreateCommandQueue(session.context, session.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
  SHOW(error);
  cl_event event = nullptr, marker = nullptr;
  SHOW(clEnqueueTask(session.queue, add, 0, nullptr, &event));
  SHOW(clEnqueueBarrierWithWaitList(second, 1, &event, nullptr));
  SHOW(clEnqueueTask(second, twice, 0, nullptr, nullptr));
  SHOW(clEnqueueMarkerWithWaitList(second, 0, nullptr, &marker));
  SHOW(clWaitForEvents(1, &marker));
  SHOW_VALUE(session.contents<int>(value, 1)[0]);
  cl_ulong time = 0;
  SHOW(clGetEventProfilingInfo(marker, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr));
  clReleaseEvent(event);
  clReleaseEvent(marker);
  SHOW(clFinish(second));
  SHOW(clReleaseCommandQueue(second));
}

// What a queue holds back still runs when the program has released the queue.
void released_queue(const Session& session, cl_kernel twice, cl_mem value) {
  const cl_command_queue queue = clCreateCommandQueue(session.context, session.device, 0, nullptr);
  const cl_event go = clCreateUserEvent(session.context, nullptr);
  cl_event done = nullptr;
  SHOW(clEnqueueTask(queue, twice, 1, &go, nullptr));
  SHOW(clEnqueueMarkerWithWaitList(queue, 0, nullptr, &done));
  SHOW(clReleaseCommandQueue(queue));
  SHOW_VALUE(session.contents<int>(value, 1)[0]);
  SHOW(clSetUserEventStatus(go, CL_COMPLETE));
  SHOW(clWaitForEvents(1, &done));
  SHOW_VALUE(session.contents<int>(value, 1)[0]);
  clReleaseEvent(done);
  clReleaseEvent(go);
}

int main() {
  const Session session(CL_QUEUE_PROFILING_ENABLE);
  const cl_program program = session.built(source);
  const cl_mem value = session.buffer(std::vector<int>{1});
  const cl_kernel add = clCreateKernel(program, "add", nullptr),
                  twice = clCreateKernel(program, "twice", nullptr);
  set(add, 0, value);
  set(add, 1, 10);
  set(twice, 0, value);
  times(session, add);
  user_events(session, add, twice, value);
  failing(session, twice, value);
  two_queues(session, add, twice, value);
  released_queue(session, twice, value);
  clReleaseKernel(add);
  clReleaseKernel(twice);
  clReleaseMemObject(value);
  clReleaseProgram(program);
}
