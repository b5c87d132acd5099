// Streams, as far as other files need them.
//
// Work is done when it is issued, on the thread that issues it. That is a legal order of execution: CUDA
// promises only that the work of one stream runs in the order of issue, and that nothing runs before what it
// was told to wait for (events, the default stream's implicit barriers, synchronisation). All of these only
// ever wait for work that was issued earlier, so the order of issue satisfies each of them.
#pragma once

#include "cuda_api.hpp"

#include <functional>

namespace warpfold::runtime {

using Work = std::function<cudaError_t()>;

// Does `work` now, or adds it to the graph that the stream is being captured into.
// Throws Refusal (cudaErrorInvalidResourceHandle) where the stream is not one.
cudaError_t submit(cudaStream_t stream, cudaGraphNodeType type, Work work);

// Throws Refusal where `stream` is neither a default stream nor a live created one.
void check_stream(cudaStream_t stream);

// Refuses what would wait for a stream while a graph is captured (cudaErrorStreamCaptureUnsupported).
void refuse_while_capturing(const char* caller);

} // namespace warpfold::runtime
