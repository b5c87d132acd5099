// What a node does, as a type of its own for each kind: a program may ask a node for its parameters.
// A kernel node's is LaunchWork (launch.hpp).
#pragma once

#include "runtime/cuda_api.hpp"
#include "runtime/streams/streams.hpp"

namespace warpfold::runtime {

// Checks its ranges when its turn comes.
struct CopyWork {
  cudaMemcpy3DParms parameters;
  cudaError_t operator()() const;
};
struct FillWork {
  cudaMemsetParams parameters;
  cudaError_t operator()() const;
};
struct HostWork {
  cudaHostNodeParams parameters;
  cudaError_t operator()() const;
};
// Of a node that records an event or waits for one. A launch does it for the graph as a whole: it waits for
// the events before, and they are complete after it.
struct EventWork {
  cudaEvent_t event;
  cudaError_t operator()() const { return cudaSuccess; }
};

// These throw Refusal for parameters that CUDA would refuse. The arguments of a launch are copied now, as
// CUDA guarantees for kernel nodes.
Work kernel_work(const cudaKernelNodeParams& parameters);
Work copy_work(const cudaMemcpy3DParms& parameters);
Work copy_work(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind);
Work copy_to_symbol_work(const void* symbol, const void* source, std::size_t bytes, std::size_t offset,
                         cudaMemcpyKind kind);
Work copy_from_symbol_work(void* destination, const void* symbol, std::size_t bytes, std::size_t offset,
                           cudaMemcpyKind kind);
Work fill_work(const cudaMemsetParams& parameters);
Work host_work(const cudaHostNodeParams& parameters);
Work event_work(cudaEvent_t event);

#if CUDART_VERSION >= 13000
// Of a kernel, a copy, a memset, a host function or an event. Throws Refusal for other kinds.
Work work_of(const cudaGraphNodeParams& parameters);
#endif

} // namespace warpfold::runtime
