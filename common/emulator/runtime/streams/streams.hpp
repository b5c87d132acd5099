// The parts of streams that other files need.
//
// With one device, work is done when it is issued, on the thread that issues it (the exceptions: queues.hpp).
// That is a legal order of execution: CUDA guarantees only that the work of one stream runs in the order of
// issue, and that nothing runs before the work that it must wait for (events, the default stream's
// implicit barriers, synchronisation). All of these only wait for work that was issued earlier, so the order
// of issue satisfies each of them.
#pragma once

#include "runtime/cuda_api.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>

namespace warpfold::runtime {

using Work = std::function<cudaError_t()>;

// Attributes of streams and of kernel nodes: where a GPU keeps data and how it schedules work. They never
// change a result, so they are kept and have no effect.
class Attributes {
public:
  // Throws Refusal (cudaErrorInvalidValue) for a window of addresses that no GPU takes.
  void set(cudaLaunchAttributeID id, const cudaLaunchAttributeValue& value);
  cudaLaunchAttributeValue get(cudaLaunchAttributeID id) const; // as it was set, or what CUDA begins with

private:
  std::map<cudaLaunchAttributeID, cudaLaunchAttributeValue> values_;
};

// When a call that issues work returns: when it is done, or possibly earlier. A kernel may wait for what the
// host does next.
enum class Returns { early, when_done, when_it_waits };

// Issues `work`, or adds it to the graph that the stream is being captured into.
// `returns` is asked of kernels, and where work is done later (devices.hpp): else it is done when the call
// returns. Null: early. Throws Refusal (cudaErrorInvalidResourceHandle) if it is not a stream.
cudaError_t submit(cudaStream_t stream, cudaGraphNodeType type, Work work,
                   const std::function<Returns()>& returns = nullptr);

// The same for work that is never done twice at a time: it comes after what was issued with the same `last`
// before, in whatever stream.
struct Event;
cudaError_t submit_in_turn(std::shared_ptr<Event>& last, cudaStream_t stream, cudaGraphNodeType type,
                           Work work);

// Waits until all work of a device, or of all devices, is done.
void wait_for_device(int device);
void wait_for_all_devices();

// Throws Refusal if `stream` is neither a default stream nor a created stream that still exists.
void check_stream(cudaStream_t stream);
// Likewise for an event.
void check_event(cudaEvent_t event);
// The event is complete when all that has been issued to the stream is; its time is the one given.
using EventTime = std::chrono::steady_clock::time_point;
void record_event(cudaEvent_t event, cudaStream_t stream, std::shared_ptr<EventTime> time);
// As check_stream(); the device whose stream it is, and whether it is being captured into a graph.
int device_of(cudaStream_t stream);
bool is_captured(cudaStream_t stream);

// Refuses a call that would wait for a stream while a graph is being captured
// (cudaErrorStreamCaptureUnsupported).
void refuse_while_capturing(const char* caller);

} // namespace warpfold::runtime
