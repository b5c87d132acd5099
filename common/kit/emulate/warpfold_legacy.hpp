// What CUDA's headers no longer have, for sources that were written before: `nvcc --legacy` includes this
// file first. removed.py lists what it supplies. Nothing here is called by the kit's own programs.
#pragma once
#ifdef __cplusplus

#include <cuda_runtime.h>

// Votes and shuffles without a mask, of the lanes that are active at the call. Before compute capability 7.0
// a warp did not diverge in other ways.
#ifdef __CUDACC__
__device__ inline int legacy_any(int predicate) {
  return __any_sync(__activemask(), predicate);
}
__device__ inline int legacy_all(int predicate) {
  return __all_sync(__activemask(), predicate);
}
__device__ inline unsigned legacy_ballot(int predicate) {
  return __ballot_sync(__activemask(), predicate);
}
// CUDA declares these three, but the assembler refuses what they become.
#define __any legacy_any
#define __all legacy_all
#define __ballot legacy_ballot

#if defined(__CUDA_ARCH__) &&                                                                                \
    __CUDA_ARCH__ >= 700 // where the host's code is compiled, CUDA still declares them
template <typename Value>
__device__ inline Value __shfl(Value value, int lane, int width = warpSize) {
  return __shfl_sync(__activemask(), value, lane, width);
}
template <typename Value>
__device__ inline Value __shfl_up(Value value, unsigned delta, int width = warpSize) {
  return __shfl_up_sync(__activemask(), value, delta, width);
}
template <typename Value>
__device__ inline Value __shfl_down(Value value, unsigned delta, int width = warpSize) {
  return __shfl_down_sync(__activemask(), value, delta, width);
}
template <typename Value>
__device__ inline Value __shfl_xor(Value value, int mask, int width = warpSize) {
  return __shfl_xor_sync(__activemask(), value, mask, width);
}
#endif
#endif

// Gone since CUDA 11.
struct legacy_pointer_attributes : cudaPointerAttributes {
  cudaMemoryType memoryType;
  int isManaged;
};
inline cudaError_t cudaPointerGetAttributes(legacy_pointer_attributes* attributes, const void* pointer) {
  cudaPointerAttributes* const known = attributes;
  const cudaError_t error = cudaPointerGetAttributes(known, pointer);
  if (error != cudaSuccess) return error;
  attributes->isManaged = attributes->type == cudaMemoryTypeManaged;
  attributes->memoryType = attributes->isManaged ? cudaMemoryTypeDevice : attributes->type;
  return cudaSuccess;
}
#define cudaPointerAttributes legacy_pointer_attributes

// Gone since CUDA 13.
#if CUDART_VERSION >= 13000

struct legacy_device_properties : cudaDeviceProp {
  int clockRate, memoryClockRate, deviceOverlap, kernelExecTimeoutEnabled, computeMode;
  int singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch, maxTexture1DLinear;
};
inline cudaError_t cudaGetDeviceProperties(legacy_device_properties* properties, int device) {
  cudaDeviceProp* const known = properties;
  cudaError_t error = cudaGetDeviceProperties(known, device);
  const auto ask = [&](int& value, cudaDeviceAttr attribute) {
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&value, attribute, device);
  };
  ask(properties->clockRate, cudaDevAttrClockRate);
  ask(properties->memoryClockRate, cudaDevAttrMemoryClockRate);
  ask(properties->deviceOverlap, cudaDevAttrGpuOverlap);
  ask(properties->kernelExecTimeoutEnabled, cudaDevAttrKernelExecTimeout);
  ask(properties->computeMode, cudaDevAttrComputeMode);
  ask(properties->singleToDoublePrecisionPerfRatio, cudaDevAttrSingleToDoublePrecisionPerfRatio);
  ask(properties->maxTexture1DLinear, cudaDevAttrMaxTexture1DLinearWidth);
  properties->cooperativeMultiDeviceLaunch = 0; // no device has it any more
  return error;
}
#define cudaDeviceProp legacy_device_properties
#define cudaGetDeviceProperties_v2 cudaGetDeviceProperties

inline cudaError_t cudaThreadSynchronize() {
  return cudaDeviceSynchronize();
}
inline cudaError_t cudaThreadExit() {
  return cudaDeviceReset();
}
inline cudaError_t cudaThreadGetLimit(size_t* value, cudaLimit limit) {
  return cudaDeviceGetLimit(value, limit);
}
inline cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) {
  return cudaDeviceSetLimit(limit, value);
}
inline cudaError_t cudaThreadGetCacheConfig(cudaFuncCache* config) {
  return cudaDeviceGetCacheConfig(config);
}
inline cudaError_t cudaThreadSetCacheConfig(cudaFuncCache config) {
  return cudaDeviceSetCacheConfig(config);
}
// They converted doubles for devices that had none, and have done nothing since.
inline cudaError_t cudaSetDoubleForDevice(double*) {
  return cudaSuccess;
}
inline cudaError_t cudaSetDoubleForHost(double*) {
  return cudaSuccess;
}

// Functions that have more arguments now. A device was named by its number, the host by cudaCpuDeviceId.
inline cudaMemLocation legacy_location(int device) {
  cudaMemLocation location{};
  location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device == cudaCpuDeviceId ? 0 : device;
  return location;
}
inline cudaError_t cudaMemAdvise(const void* begin, size_t size, cudaMemoryAdvise advice, int device) {
  return cudaMemAdvise(begin, size, advice, legacy_location(device));
}
inline cudaError_t cudaMemPrefetchAsync(const void* begin, size_t size, int device, cudaStream_t stream = 0) {
  return cudaMemPrefetchAsync(begin, size, legacy_location(device), 0, stream);
}
inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                            const cudaGraphNode_t* to, size_t count) {
  return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                               const cudaGraphNode_t* to, size_t count) {
  return cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                     size_t* count) {
  return cudaGraphGetEdges(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* found, size_t* count) {
  return cudaGraphNodeGetDependencies(node, found, nullptr, count);
}
inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* found,
                                                  size_t* count) {
  return cudaGraphNodeGetDependentNodes(node, found, nullptr, count);
}
inline cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                    size_t count, cudaGraphNodeParams* parameters) {
  return cudaGraphAddNode(node, graph, after, nullptr, count, parameters);
}
inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                       size_t count, unsigned flags = 0) {
  return cudaStreamUpdateCaptureDependencies(stream, nodes, nullptr, count, flags);
}
inline cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                            unsigned long long* id, cudaGraph_t* graph,
                                            const cudaGraphNode_t** nodes, size_t* count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, nullptr, count);
}

// CUDA 12 had both forms of a function, the newer one under a name of its own.
#define cudaMemAdvise_v2 cudaMemAdvise
#define cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync
#define cudaGraphAddDependencies_v2 cudaGraphAddDependencies
#define cudaGraphRemoveDependencies_v2 cudaGraphRemoveDependencies
#define cudaGraphGetEdges_v2 cudaGraphGetEdges
#define cudaGraphNodeGetDependencies_v2 cudaGraphNodeGetDependencies
#define cudaGraphNodeGetDependentNodes_v2 cudaGraphNodeGetDependentNodes
#define cudaGraphAddNode_v2 cudaGraphAddNode
#define cudaStreamUpdateCaptureDependencies_v2 cudaStreamUpdateCaptureDependencies
#define cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo
#define cudaStreamGetCaptureInfo_v3 cudaStreamGetCaptureInfo
#define cudaEventElapsedTime_v2 cudaEventElapsedTime

#endif
#endif
