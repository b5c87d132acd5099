// What the runtime tells of the order of work (watch/host_order.hpp): each call that issues work, or waits
// for some, says so here. Does nothing while races are not looked for.
#pragma once

#include "streams.hpp"
#include "watch/host_order.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace warpfold::runtime {

struct ExecutableGraph;
struct Event;

namespace ordering {

// Does a stream's work. What it touches is told by the functions below, while it is done.
cudaError_t carry_out(cudaStream_t stream, cudaGraphNodeType type, const Work& work);

// The same for one step after the other of a graph; `after`: for each step the ones that it depends on. They
// run inside the launch's own work.
struct Step {
  cudaGraphNodeType type{};
  const Work* work = nullptr;
  const std::vector<std::size_t>* after = nullptr;
};
cudaError_t carry_out(const std::vector<Step>& steps);

// Of the work that is being done.
void reads(const void* begin, std::size_t size);
void writes(const void* begin, std::size_t size);
void is_kernel(const std::string& name);
void touches(std::vector<watch::TouchedRange> ranges);
// The call that issued it returns when it is over.
void host_waits_for_this();
// A copy: whether the call returns before it is over follows from the kinds of memory, and from `blocking`,
// which is what the function's name says.
void copies(void* destination, const void* source, std::size_t size, bool blocking);
void fills(void* destination, std::size_t size, bool blocking);

// Whether it matters what bytes a kernel touches.
bool wants_touches();

void host_waits_for_stream(cudaStream_t stream);
void host_waits_for_all();
void host_waits_for_event(Event& event);
void event_recorded(Event& event, cudaStream_t stream);
void stream_waits_for_event(cudaStream_t stream, Event& event);
void event_destroyed(const Event& event); // and the process's end, for all that are left
void allocated(const void* begin, std::size_t size);
void stream_destroyed(unsigned order);

// What the host's own loads and stores have hit. For a report, and before anything else is issued.
void note_host_accesses();

// What was told may be told again.
void forget_reports();

// A program compiled with --default-stream per-thread calls functions with names of their own; each of them
// sets this.
extern "C" unsigned char warpfold_default_stream_is_per_thread __attribute__((visibility("hidden")));

} // namespace ordering
} // namespace warpfold::runtime
