// Queues: one stream each. A command goes to the stream at once, unless it or one before it waits for a user
// event.
#pragma once

#include "events.hpp"

#include <deque>
#include <functional>

namespace warpfold::opencl {

struct Command {
  std::vector<Ref<_cl_event>> waits;
  std::function<void(cudaStream_t)> work; // throws Refusal
  Ref<_cl_event> event;                   // null where the program wants none
};

// One that has to wait for the host. It keeps its queue, which the program may release meanwhile.
struct HeldBack {
  Command command;
  Ref<_cl_command_queue> queue;
};

} // namespace warpfold::opencl

struct _cl_command_queue : warpfold::opencl::Object<warpfold::opencl::Kind::queue> {
  warpfold::opencl::Ref<_cl_context> context;
  _cl_device_id* device = nullptr;
  cl_command_queue_properties properties = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t origin = nullptr; // if it profiles: its place on the host's clock is `origin_at`
  cl_ulong origin_at = 0;
  std::deque<warpfold::opencl::HeldBack> held_back;

  ~_cl_command_queue();
};

namespace warpfold::opencl {

// What every clEnqueue... ends with.
struct Enqueue {
  cl_command_queue queue;
  cl_uint wait_count;
  const cl_event* wait_list;
  cl_event* event; // where the program wants the command's event; may be null
};

// The queue, which must be of the same context as the memory that the command uses.
_cl_command_queue& checked_queue(cl_command_queue queue);

// Checks the wait list and issues the command, or holds it back. `blocking`: returns when it is done.
void enqueue(const Enqueue& to, cl_command_type type, bool blocking, std::function<void(cudaStream_t)> work);

// Issues what no longer has to be held back, in all queues.
void issue_held_back();

} // namespace warpfold::opencl
