// Tells the checks about the order of work (analysis/host_order.hpp): each call that issues work, or waits
// for some, reports it here. Does nothing unless races are looked for.
#pragma once

#include "analysis/host_order.hpp"
#include "machine/machine.hpp"
#include "runtime/streams/streams.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace warpfold::runtime {

struct ExecutableGraph;
struct Event;

namespace ordering {

// What is known of work when it is issued.
struct Issued;
// Called by the thread that issues work. Null if there is nothing to tell the checks about.
std::shared_ptr<Issued> issue(cudaStream_t stream, cudaGraphNodeType type);
// Whether a host function begins late (host_functions.hpp): the one that issues it goes on meanwhile.
bool begins_late(cudaGraphNodeType type);
// `issued` is a host function, and nothing keeps the host from going on while it runs.
void meets_host(Issued* issued);
// Does the work. While it runs, the functions below report what it accesses.
cudaError_t carry_out(Issued* issued, cudaGraphNodeType type, const Work& work);

// The same for the steps of a graph, one after another; `after` lists for each step the ones that it depends
// on. They run inside the launch's own work.
struct Step {
  cudaGraphNodeType type{};
  const Work* work = nullptr;
  const std::vector<std::size_t>* after = nullptr;
};
cudaError_t carry_out(const std::vector<Step>& steps);

// For the work that is being done.
void reads(const void* begin, std::size_t size);
void writes(const void* begin, std::size_t size);
void is_kernel(const std::string& name);
void launches_next(int device); // tells the checks what comes before the kernel
void touches(std::vector<analysis::TouchedRange> ranges);
// The call that issued the work returns when it is done.
void host_waits_for_this();
// When a copy's call returns. This follows from the kinds of memory and from `blocking`, which the function's
// name implies.
Returns copy_returns(const void* destination, const void* source, bool blocking);
Returns fill_returns(const void* destination, bool blocking);
void copies(void* destination, const void* source, std::size_t size, bool blocking);
void fills(void* destination, std::size_t size, bool blocking);

// The line of the call that issued the work that is being done; none unless races are looked for.
machine::SourceLine line_of_call();

// Who called for what is done now, for line_of (call_sites.hpp).
std::vector<std::uint64_t> frames_of_call();

// Whether it matters which bytes a kernel accesses.
bool wants_touches();

void host_waits_for_stream(cudaStream_t stream);
void host_waits_for_device(int device);
void host_waits_for_all();
void host_waits_for_event(Event& event);
// The answer to a query of work that is complete here. On a GPU it may be either, unless the host has waited
// for the work; so that a program which ignores the answer is found, the first one is no.
bool is_ready(cudaStream_t stream);
bool is_ready(Event& event);
void event_recorded(Event& event, cudaStream_t stream);
void stream_waits_for_event(cudaStream_t stream, Event& event);
void event_destroyed(const Event& event); // and the process's end, for all that are left
void allocated(const void* begin, std::size_t size);
void stream_created(unsigned flags);
void stream_destroyed(unsigned order);

// Handles what the host's own loads and stores have hit: for a report, and before anything else is issued.
void note_host_accesses();
// Whether there is memory in which they are looked for.
bool watches_host();
// What this thread does, null if it does no work. Takes no lock, so a signal handler may call it.
struct Current;
const Current* work_of_thread();

// What was reported may be reported again.
void forget_reports();

// A program compiled with --default-stream per-thread calls functions with their own names; each of them
// sets this.
extern "C" unsigned char warpfold_default_stream_is_per_thread __attribute__((visibility("hidden")));

} // namespace ordering
} // namespace warpfold::runtime
