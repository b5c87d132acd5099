#include "runtime/graphs/graph_work.hpp"

#include "runtime/graphs/graph_table.hpp"
#include "runtime/launches/launch.hpp"
#include "runtime/memory/memory_check.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::runtime {
namespace {

template <typename Value>
void fill_rows(const cudaMemsetParams& parameters) {
  const Value value = static_cast<Value>(parameters.value);
  for (std::size_t y = 0; y < parameters.height; ++y) {
    auto row = reinterpret_cast<Value*>(static_cast<std::byte*>(parameters.dst) + y * parameters.pitch);
    std::fill(row, row + parameters.width, value);
    note_written(row, parameters.width * sizeof(Value));
    ordering::fills(row, parameters.width * sizeof(Value), false);
  }
}

} // namespace

cudaError_t CopyWork::operator()() const {
  const auto& [from_array, from_place, from, to_array, to_place, to, extent, kind] = parameters;
  if (!from_array && !to_array && extent.height == 1 && extent.depth == 1)
    return cudaMemcpyAsync(static_cast<std::byte*>(to.ptr) + to_place.x,
                           static_cast<std::byte*>(from.ptr) + from_place.x, extent.width, kind,
                           cudaStreamPerThread);
  return cudaMemcpy3DAsync(&parameters, cudaStreamPerThread);
}

cudaError_t FillWork::operator()() const {
  if (parameters.elementSize == 1) fill_rows<std::uint8_t>(parameters);
  if (parameters.elementSize == 2) fill_rows<std::uint16_t>(parameters);
  if (parameters.elementSize == 4) fill_rows<std::uint32_t>(parameters);
  return cudaSuccess;
}

cudaError_t HostWork::operator()() const {
  parameters.fn(parameters.userData);
  return cudaSuccess;
}

Work kernel_work(const cudaKernelNodeParams& parameters) {
  if (parameters.extra)
    throw Refusal(cudaErrorNotSupported, "kernel arguments in `extra`: pass kernelParams");
  machine::LaunchShape shape{{parameters.gridDim.x, parameters.gridDim.y, parameters.gridDim.z},
                             {parameters.blockDim.x, parameters.blockDim.y, parameters.blockDim.z},
                             parameters.sharedMemBytes};
  KernelEntry& kernel = Runtime::get().registry.kernel(parameters.func);
  return LaunchWork{prepare(kernel, shape, parameters.kernelParams)};
}

Work copy_work(const cudaMemcpy3DParms& parameters) {
  return CopyWork{parameters};
}

Work copy_work(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  check_copy(destination, source, bytes, kind);
  cudaMemcpy3DParms parameters{};
  parameters.srcPtr = {const_cast<void*>(source), bytes, bytes, 1};
  parameters.dstPtr = {destination, bytes, bytes, 1};
  parameters.extent = {bytes, 1, 1};
  parameters.kind = kind;
  return CopyWork{parameters};
}

Work copy_to_symbol_work(const void* symbol, const void* source, std::size_t bytes, std::size_t offset,
                         cudaMemcpyKind kind) {
  return copy_work(inside_symbol(symbol, bytes, offset), source, bytes, kind);
}

Work copy_from_symbol_work(void* destination, const void* symbol, std::size_t bytes, std::size_t offset,
                           cudaMemcpyKind kind) {
  return copy_work(destination, inside_symbol(symbol, bytes, offset), bytes, kind);
}

Work fill_work(const cudaMemsetParams& parameters) {
  if (parameters.elementSize != 1 && parameters.elementSize != 2 && parameters.elementSize != 4)
    throw Refusal(cudaErrorInvalidValue,
                  fmt::format("elements of {} bytes: 1, 2 or 4 are allowed", parameters.elementSize));
  const std::size_t rows = parameters.height ? (parameters.height - 1) * parameters.pitch : 0;
  check_device_range("the destination", parameters.dst, rows + parameters.width * parameters.elementSize);
  return FillWork{parameters};
}

Work host_work(const cudaHostNodeParams& parameters) {
  if (!parameters.fn) throw Refusal(cudaErrorInvalidValue, "the host function is null");
  return HostWork{parameters};
}

Work event_work(cudaEvent_t event) {
  check_event(event);
  return EventWork{event};
}

#if CUDART_VERSION >= 13000
Work work_of(const cudaGraphNodeParams& parameters) {
  switch (parameters.type) {
  case cudaGraphNodeTypeKernel: {
    const auto& given = parameters.kernel;
    cudaKernelNodeParams kernel{};
    kernel.func = given.func, kernel.gridDim = given.gridDim, kernel.blockDim = given.blockDim;
    kernel.sharedMemBytes = given.sharedMemBytes;
    kernel.kernelParams = given.kernelParams, kernel.extra = given.extra;
    return kernel_work(kernel);
  }
  case cudaGraphNodeTypeMemcpy:
    return copy_work(parameters.memcpy.copyParams);
  case cudaGraphNodeTypeMemset: {
    const auto& given = parameters.memset;
    cudaMemsetParams memset{};
    memset.dst = given.dst, memset.pitch = given.pitch, memset.value = given.value;
    memset.elementSize = given.elementSize, memset.width = given.width, memset.height = given.height;
    return fill_work(memset);
  }
  case cudaGraphNodeTypeHost: {
    cudaHostNodeParams host{};
    host.fn = parameters.host.fn, host.userData = parameters.host.userData;
    return host_work(host);
  }
  case cudaGraphNodeTypeEventRecord:
    return event_work(parameters.eventRecord.event);
  case cudaGraphNodeTypeWaitEvent:
    return event_work(parameters.eventWait.event);
  default:
    throw Refusal(
        cudaErrorNotSupported,
        "of this kind of node, the emulator cannot take parameters here: it can of kernels, copies, "
        "memsets, host functions and events");
  }
}
#endif

} // namespace warpfold::runtime
