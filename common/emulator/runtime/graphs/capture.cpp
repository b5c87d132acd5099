// Issuing work: either it is done at once, or it becomes part of the graph that its stream is captured into.
#include "runtime/devices/devices.hpp"
#include "runtime/graphs/graph_memory.hpp"
#include "runtime/graphs/graph_table.hpp"
#include "runtime/graphs/graph_work.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/host_functions.hpp"
#include "runtime/streams/stream_table.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace warpfold::runtime {
namespace {

bool is_legacy(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy;
}

// A device's legacy default stream waits for its blocking streams, which a captured stream cannot allow.
void refuse_implicit_wait(StreamTable& table, int device) {
  for (const auto& [handle, stream] : table.streams)
    if (stream->device == device && stream->place.capturing() && !(stream->flags & cudaStreamNonBlocking)) {
      stream->place.capture->invalidated = true;
      throw Refusal(cudaErrorStreamCaptureImplicit,
                    "work in the default stream would wait for a stream that is being captured into a graph");
    }
}

void add_to_capture(CapturePlace& place, cudaGraphNodeType type, Work work) {
  if (place.capture->invalidated)
    throw Refusal(cudaErrorStreamCaptureInvalidated, "the capture has already failed");
  place.last = {place.capture->graph->add(type, std::move(work), place.last)};
}

bool reaches(std::vector<GraphNode*> from, const GraphNode* wanted) {
  std::set<const GraphNode*> seen;
  while (!from.empty()) {
    const GraphNode* node = from.back();
    from.pop_back();
    if (node == wanted) return true;
    if (seen.insert(node).second)
      from.insert(from.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return false;
}

cudaError_t begin(const char* caller, cudaStream_t handle, Graph* graph, std::vector<GraphNode*> first,
                  cudaStreamCaptureMode mode) {
  return entry(caller, [&] {
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    Stream& stream = table.stream(handle);
    if (is_legacy(handle))
      throw Refusal(cudaErrorStreamCaptureUnsupported, "the default stream cannot be captured");
    if (stream.place.capturing())
      throw Refusal(cudaErrorIllegalState, "the stream is already being captured");
    auto capture = std::make_shared<Capture>();
    capture->is_new = !graph;
    capture->graph = graph ? graph : &graph_of(keep(std::make_unique<Graph>()));
    capture->origin = handle;
    capture->mode = mode;
    capture->id = table.next_id++;
    table.captures.push_back(capture);
    stream.place = {capture, std::move(first)};
    return cudaSuccess;
  });
}

// Every stream that was forked from the captured stream must have been joined to it again.
void check_joined(StreamTable& table, const Stream& origin) {
  for (const auto& [handle, stream] : table.streams) {
    if (stream.get() == &origin || stream->place.capture != origin.place.capture) continue;
    for (GraphNode* last : stream->place.last)
      if (!reaches(origin.place.last, last))
        throw Refusal(
            cudaErrorStreamCaptureUnjoined,
            "a stream that was forked with events was not joined to the captured stream before the end");
  }
}

void leave(StreamTable& table, const std::shared_ptr<Capture>& capture) {
  capture->active = false;
  std::erase(table.captures, capture);
  for (const auto& [handle, stream] : table.streams)
    if (stream->place.capture == capture) stream->place = {};
  for (Stream& stream : table.per_thread)
    if (stream.place.capture == capture) stream.place = {};
}

} // namespace

namespace {

// Exceptions end here, as those of a call do in entry().
cudaError_t carry_out_later(ordering::Issued* issued, cudaGraphNodeType type, const Work& work) {
  try {
    return sticky_error() != cudaSuccess ? sticky_error() : ordering::carry_out(issued, type, work);
  } catch (...) {
    const cudaError_t error = error_from_exception("work in a stream");
    set_sticky_error(error);
    return error;
  }
}

// Puts the work in the stream's queue.
Point enqueue(StreamTable& table, Stream& stream, cudaStream_t handle, cudaGraphNodeType type,
              const Work& work) {
  const std::shared_ptr<ordering::Issued> issued = ordering::issue(handle, type);
  std::optional<ordering::LateStart> start;
  if (ordering::begins_late(type)) start.emplace();
  const Point done =
      stream.queue.push(table.before_work_in(stream), [device = stream.device, issued, start, type, work] {
        set_current_device(device);
        if (start && !start->wait()) ordering::meets_host(issued.get());
        carry_out_later(issued.get(), type, work);
      });
  stream.awaited.clear();
  return done;
}

} // namespace

namespace {

// The host's own loads and stores are noticed in what work has accessed, so the host goes on when it is done,
// which is most often at once; a kernel that computes is awaited however busy the machine is.
void give_a_start(Moment& done) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::duration> left{5s}; // work may wait for what the host does next
  const Clock::duration at_most = left.load();
  if (at_most <= 0s) return;
  const Clock::time_point begin = Clock::now();
  ordering::host_functions_begin();
  constexpr int enough = 4; // looks in a row at which no kernel computes: on a busy machine, it begins late
  for (int idle = 0; idle < enough && Clock::now() - begin < at_most && !done.wait_at_most(100ms);)
    idle = machine::any_kernel_computes(100ms) ? 0 : idle + 1;
  left = left.load() - (Clock::now() - begin);
}

// Whether the kernel waits for what the host will do once the call has returned.
bool waits_for_host(Moment& done) {
  using namespace std::chrono_literals;
  ordering::host_functions_begin();
  while (!done.wait_at_most(20ms))
    if (machine::all_kernels_wait(250ms)) return true;
  return false;
}

} // namespace

bool is_captured(cudaStream_t handle) {
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  return table.stream(handle).place.capturing();
}

void capture_memory(cudaStream_t handle, cudaGraphNodeType type, const std::shared_ptr<GraphMemory>& memory) {
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  CapturePlace& place = table.stream(handle).place;
  add_to_capture(place, type, memory->renewal());
  place.last.front()->memory = memory;
}

cudaError_t submit(cudaStream_t handle, cudaGraphNodeType type, Work work,
                   const std::function<Returns()>& returns) {
  const bool later = works_later();
  const bool is_asked = returns && (later || type == cudaGraphNodeTypeKernel);
  const Returns returning = is_asked ? returns() : Returns::early;
  const bool begins_late = ordering::begins_late(type);
  std::vector<Point> before;
  Point done;
  {
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    Stream& stream = table.stream(handle);
    if (type == cudaGraphNodeTypeKernel && stream.device != current_device())
      throw Refusal(cudaErrorInvalidResourceHandle,
                    fmt::format("the stream belongs to device {}, but the thread uses device {}: call "
                                "cudaSetDevice({}) before the launch",
                                stream.device, current_device(), stream.device));
    if (stream.place.capturing()) {
      add_to_capture(stream.place, type, std::move(work));
      return cudaSuccess;
    }
    if (!table.captures.empty() && is_legacy(handle)) refuse_implicit_wait(table, stream.device);
    if (later || begins_late || returning == Returns::when_it_waits) {
      done = enqueue(table, stream, handle, type, work);
    } else {
      before = table.before_work_in(stream);
      before.push_back(stream.queue.last());
      stream.awaited.clear();
    }
  }
  if (!done) {
    const std::shared_ptr<ordering::Issued> issued = ordering::issue(handle, type);
    for (const Point& each : before) wait_for(each);
    return ordering::carry_out(issued.get(), type, work);
  }
  if (!later && returning == Returns::when_it_waits) {
    if (!waits_for_host(*done)) return sticky_error();
    work_later();
  } else if (later && returning == Returns::when_done) {
    wait_for(done);
    return sticky_error();
  }
  if (!begins_late && ordering::watches_host()) give_a_start(*done);
  return cudaSuccess;
}

cudaError_t submit_in_turn(std::shared_ptr<Event>& last, cudaStream_t handle, cudaGraphNodeType type,
                           Work work) {
  StreamTable& table = StreamTable::get();
  {
    std::lock_guard lock(table.mutex);
    Stream& stream = table.stream(handle);
    if (stream.place.capturing()) return submit(handle, type, std::move(work));
    if (last) {
      ordering::stream_waits_for_event(handle, *last);
      stream.awaited.push_back(last->over_at);
    }
  }
  const cudaError_t error = submit(handle, type, std::move(work));
  std::lock_guard lock(table.mutex);
  last = std::make_shared<Event>();
  last->ever_recorded = true;
  last->over_at = table.stream(handle).queue.last();
  ordering::event_recorded(*last, handle);
  return error;
}

void wait_for_device(int device) {
  std::vector<Point> work;
  {
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    work = table.work_of(device);
  }
  for (const Point& each : work) wait_for(each);
}

void wait_for_all_devices() {
  for (int device = 0; device < Runtime::get().memory.devices(); ++device) wait_for_device(device);
}

void refuse_while_capturing(const char* caller) {
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  for (const auto& capture : table.captures)
    if (capture->mode == cudaStreamCaptureModeGlobal || (capture->mode == cudaStreamCaptureModeThreadLocal &&
                                                         capture->thread == std::this_thread::get_id())) {
      capture->invalidated = true;
      throw Refusal(cudaErrorStreamCaptureUnsupported,
                    fmt::format("{} cannot be called while a stream is captured into a graph", caller));
    }
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t event_handle, unsigned flags) {
  return entry("cudaStreamWaitEvent", [&] {
    if (flags & ~unsigned{cudaEventWaitExternal}) return cudaErrorInvalidValue;
    if (flags != 0) {
      if (!is_captured(stream_handle)) return cudaErrorIllegalState;
      return submit(stream_handle, cudaGraphNodeTypeWaitEvent, event_work(event_handle));
    }
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    Stream& stream = table.stream(stream_handle);
    Event& event = table.event(event_handle);
    CapturePlace& place = stream.place;
    if (!event.place.capturing()) {
      if (place.capturing() && event.recorded)
        throw Refusal(cudaErrorStreamCaptureIsolation, "the event was recorded outside of the capture");
      if (!place.capturing()) {
        ordering::stream_waits_for_event(stream_handle, event);
        if (works_later() || !event.shared)
          stream.awaited.push_back(event.point());
        else
          wait_for(event.point()); // of another process
      }
      return cudaSuccess;
    }
    if (!place.capturing()) place = {event.place.capture, {}};
    if (place.capture != event.place.capture)
      throw Refusal(cudaErrorStreamCaptureMerge, "the stream and the event belong to different captures");
    for (GraphNode* node : event.place.last)
      if (std::find(place.last.begin(), place.last.end(), node) == place.last.end())
        place.last.push_back(node);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return begin("cudaStreamBeginCapture", stream, nullptr, {}, mode);
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies, const cudaGraphEdgeData*,
                                          size_t count, cudaStreamCaptureMode mode) {
  if (!graph || (count && !dependencies)) return remember(cudaErrorInvalidValue);
  auto first = reinterpret_cast<GraphNode* const*>(dependencies);
  return entry("cudaStreamBeginCaptureToGraph", [&] {
    return begin("cudaStreamBeginCaptureToGraph", stream, &graph_of(graph), {first, first + count}, mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return entry("cudaStreamEndCapture", [&] {
    if (graph) *graph = nullptr;
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    Stream& stream = table.stream(handle);
    if (!stream.place.capturing()) throw Refusal(cudaErrorIllegalState, "the stream is not being captured");
    const std::shared_ptr<Capture> capture = stream.place.capture;
    if (capture->origin != handle) {
      capture->invalidated = true;
      throw Refusal(cudaErrorStreamCaptureUnmatched,
                    "the capture began in another stream and must end there");
    }
    try {
      if (capture->invalidated)
        throw Refusal(cudaErrorStreamCaptureInvalidated, "the capture has already failed");
      check_joined(table, stream);
      if (capture->is_new && !graph) throw Refusal(cudaErrorInvalidValue, "the graph has nowhere to go");
    } catch (const Refusal&) {
      leave(table, capture);
      if (capture->is_new) discard(capture->graph);
      throw;
    }
    leave(table, capture);
    if (graph) *graph = reinterpret_cast<cudaGraph_t>(capture->graph);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return entry("cudaStreamIsCapturing", [&] {
    if (!status) return cudaErrorInvalidValue;
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    const CapturePlace& place = table.stream(handle).place;
    *status = !place.capturing()           ? cudaStreamCaptureStatusNone
              : place.capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                           : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}

// Of a stream that is not captured, only the status is written (CUDA Runtime API, cudaStreamGetCaptureInfo).
#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  if (edges) *edges = nullptr; // none has data
#else
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, size_t* count) {
#endif
  if (const cudaError_t error = cudaStreamIsCapturing(handle, status); error != cudaSuccess) return error;
  if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  const CapturePlace& place = table.stream(handle).place;
  if (id) *id = place.capture->id;
  if (graph) *graph = reinterpret_cast<cudaGraph_t>(place.capture->graph);
  if (dependencies) *dependencies = reinterpret_cast<const cudaGraphNode_t*>(place.last.data());
  if (count) *count = place.last.size();
  return cudaSuccess;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData*, size_t count, unsigned flags) {
#else
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* dependencies,
                                                size_t count, unsigned flags) {
#endif
  return entry("cudaStreamUpdateCaptureDependencies", [&] {
    if (flags > cudaStreamSetCaptureDependencies) return cudaErrorInvalidValue;
    StreamTable& table = StreamTable::get();
    std::lock_guard lock(table.mutex);
    CapturePlace& place = table.stream(handle).place;
    if (!place.capturing()) throw Refusal(cudaErrorIllegalState, "the stream is not being captured");
    const std::vector<GraphNode*> given = nodes_behind(dependencies, count);
    for (const GraphNode* node : given)
      if (!place.capture->graph->contains(node))
        throw Refusal(cudaErrorInvalidValue, "a dependency is not a node of this graph");
    if (flags == cudaStreamSetCaptureDependencies) place.last.clear();
    for (GraphNode* node : given)
      if (std::ranges::find(place.last, node) == place.last.end()) place.last.push_back(node);
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  if (!mode) return remember(cudaErrorInvalidValue);
  std::swap(*mode, current);
  return cudaSuccess;
}
}
