// Events: what a command is waited for by, and when it ran.
#pragma once

#include "context.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>

struct _cl_command_queue;

struct _cl_event : warpfold::opencl::Object<warpfold::opencl::Kind::event> {
  warpfold::opencl::Ref<_cl_context> context;
  _cl_command_queue* queue = nullptr; // null for a user event; a reference is held
  cl_command_type type = CL_COMMAND_USER;
  bool issued = false;           // handed to the runtime; a user event: given its status
  std::optional<cl_int> settled; // the final status, as far as it is known without asking the runtime
  cudaEvent_t begin = nullptr, end = nullptr; // `begin` only if the queue profiles
  cl_ulong queued_at = 0, issued_at = 0;      // nanoseconds of the host's clock

  ~_cl_event();
};

namespace warpfold::opencl {

// Guards the state of queues and events, and is held while work is issued. `changed` is notified when an
// event has been issued or settled.
struct State {
  std::recursive_mutex mutex;
  std::condition_variable_any changed;
};
State& state();

cl_ulong host_nanoseconds();

// CL_QUEUED, CL_SUBMITTED, CL_RUNNING, CL_COMPLETE, or a negative error.
cl_int status_of(_cl_event& event);
void wait_for(_cl_event& event);

std::vector<Ref<_cl_event>> checked_wait_list(const _cl_context& context, cl_uint count,
                                              const cl_event* list);

} // namespace warpfold::opencl
