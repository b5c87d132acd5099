// The CUDA runtime for a student's program in the class's sandbox: the calls that a lab's host code needs,
// each of which is sent to the trusted half. Streams are one stream, and waiting takes no time: the other
// half does one thing after another. A call that is missing here is missing when the program is linked, and
// the grader says so.
#include "channel.hpp"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

using namespace lab::grading;

namespace {

std::map<const void*, std::string>& kernel_names() {
  static std::map<const void*, std::string> names;
  return names;
}

// The sizes of a kernel's parameters, which a launch does not state.
const std::vector<std::uint32_t>& parameters_of(const std::string& kernel) {
  static std::map<std::string, std::vector<std::uint32_t>> known;
  const auto [place, is_new] = known.try_emplace(kernel);
  if (is_new) {
    const Message answer = ask(Say::kernel, 0, kernel.data(), kernel.size());
    place->second.resize(answer.payload.size() / sizeof(std::uint32_t));
    if (!answer.payload.empty())
      std::memcpy(place->second.data(), answer.payload.data(), place->second.size() * sizeof(std::uint32_t));
  }
  return place->second;
}

cudaError_t launch(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                   bool cooperative = false, dim3 cluster = 1) {
  const auto found = kernel_names().find(function);
  if (found == kernel_names().end()) return cudaErrorInvalidDeviceFunction;
  const std::string& name = found->second;
  std::vector<std::byte> packed;
  const std::vector<std::uint32_t>& sizes = parameters_of(name);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto* argument = static_cast<const std::byte*>(arguments[i]);
    packed.insert(packed.end(), argument, argument + sizes[i]);
  }
  const Launch request{{grid.x, grid.y, grid.z},
                       {block.x, block.y, block.z},
                       {cluster.x, cluster.y, cluster.z},
                       static_cast<std::uint32_t>(shared),
                       cooperative ? 1u : 0u,
                       static_cast<std::uint32_t>(name.size()),
                       static_cast<std::uint32_t>(packed.size())};
  send(Say::launch, 0, &request, sizeof request, name.data(), name.size(), packed.data(), packed.size());
  return cudaSuccess;
}

std::uint64_t address(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

void upload(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t piece = largest_payload - sizeof(Move);
  for (std::size_t done = 0; done < bytes; done += piece) {
    const std::size_t now = bytes - done < piece ? bytes - done : piece;
    const Move move{address(to) + done, 0, 0, 0, now, 1};
    send(Say::upload, 0, &move, sizeof move, static_cast<const char*>(from) + done, now);
  }
}

void read_back(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t piece = largest_payload;
  for (std::size_t done = 0; done < bytes; done += piece) {
    const std::size_t now = bytes - done < piece ? bytes - done : piece;
    const Move move{0, address(from) + done, 0, 0, now, 1};
    const Message answer = ask(Say::read, 0, &move, sizeof move);
    if (answer.payload.size() == now) {
      std::memcpy(static_cast<char*>(to) + done, answer.payload.data(), now);
    } else {
      std::memset(static_cast<char*>(to) + done, 0, now);
    }
  }
}

cudaError_t copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                 std::size_t height, cudaMemcpyKind kind) {
  switch (kind) {
  case cudaMemcpyHostToDevice:
    for (std::size_t row = 0; row < height; ++row)
      upload(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
             width);
    return cudaSuccess;
  case cudaMemcpyDeviceToHost:
    for (std::size_t row = 0; row < height; ++row)
      read_back(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                width);
    return cudaSuccess;
  case cudaMemcpyDeviceToDevice: {
    const Move move{address(to), address(from), to_pitch, from_pitch, width, height};
    send(Say::copy, 0, &move, sizeof move);
    return cudaSuccess;
  }
  case cudaMemcpyHostToHost:
    for (std::size_t row = 0; row < height; ++row)
      std::memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                   width);
    return cudaSuccess;
  default: { // the recorder does not know which side a pointer belongs to
    constexpr char name[] = "cudaMemcpyDefault";
    send(Say::refused, 0, name, sizeof name - 1);
    return cudaErrorInvalidMemcpyDirection;
  }
  }
}

cudaError_t fill(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height) {
  const Move move{address(to), 0, pitch, 0, width, height};
  send(Say::set, static_cast<unsigned char>(value), &move, sizeof move);
  return cudaSuccess;
}

struct CallConfiguration {
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};
std::vector<CallConfiguration> call_configurations;

template <class Handle>
cudaError_t some_handle(Handle* handle) {
  static char one;
  *handle = reinterpret_cast<Handle>(&one);
  return cudaSuccess;
}

} // namespace

extern "C" {

// ---- registration

void** __cudaRegisterFatBinary(void*) {
  static void* handle;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) {
  return 1;
}
void __cudaRegisterFunction(void**, const char* host_function, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  kernel_names()[host_function] = name;
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int) {}

// ---- launches

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
  call_configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (call_configurations.empty()) return cudaErrorMissingConfiguration;
  const CallConfiguration top = call_configurations.back();
  call_configurations.pop_back();
  *grid = top.grid, *block = top.block, *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host_function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t) {
  return launch(kernel, grid, block, arguments, shared);
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t) {
  return launch(function, grid, block, arguments, shared);
}
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t) {
  return launch(function, grid, block, arguments, shared, true);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (!config) return cudaErrorInvalidValue;
  bool cooperative = false;
  dim3 cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& each = config->attrs[i];
    if (each.id == cudaLaunchAttributeCooperative) cooperative = each.val.cooperative != 0;
    if (each.id == cudaLaunchAttributeClusterDimension)
      cluster = {each.val.clusterDim.x, each.val.clusterDim.y, each.val.clusterDim.z};
  }
  return launch(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, cooperative,
                cluster);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                   int threads, size_t shared, unsigned) {
  const auto found = kernel_names().find(function);
  if (found == kernel_names().end()) return cudaErrorInvalidDeviceFunction;
  const Occupancy asked{static_cast<std::uint32_t>(threads), static_cast<std::uint32_t>(found->second.size()),
                        shared};
  std::vector<std::byte> payload(sizeof asked + found->second.size());
  std::memcpy(payload.data(), &asked, sizeof asked);
  std::memcpy(payload.data() + sizeof asked, found->second.data(), found->second.size());
  *blocks = static_cast<int>(ask(Say::occupancy, 0, payload.data(), payload.size()).head.value);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  const auto found = kernel_names().find(function);
  if (found == kernel_names().end()) return cudaErrorInvalidDeviceFunction;
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && value >= 0)
    send(Say::shared_limit, static_cast<std::uint64_t>(value), found->second.data(), found->second.size());
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed)
    send(Say::clusters, value != 0, found->second.data(), found->second.size());
  return cudaSuccess;
}

// ---- memory

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  *pointer = reinterpret_cast<void*>(ask(Say::allocate, bytes).head.value);
  return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}
cudaError_t cudaFree(void* pointer) {
  if (pointer) send(Say::release, address(pointer));
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  return cudaFree(pointer);
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return fill(to, value, bytes, bytes, 1);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  return fill(to, value, bytes, bytes, 1);
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return fill(to, value, pitch, width, height);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return copy(to, bytes, from, bytes, bytes, 1, kind);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return copy(to, bytes, from, bytes, bytes, 1, kind);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return copy(to, to_pitch, from, from_pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t) {
  return copy(to, to_pitch, from, from_pitch, width, height, kind);
}

// ---- waiting, errors, the device

cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return some_handle(stream);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return some_handle(stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return some_handle(event);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return some_handle(event);
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
cudaError_t cudaPeekAtLastError() {
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "error";
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaError";
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  const Invoke& invocation = invoked();
  switch (attribute) {
  case cudaDevAttrMultiProcessorCount:
    *value = static_cast<int>(invocation.multiprocessors);
    break;
  case cudaDevAttrMaxThreadsPerMultiProcessor:
    *value = static_cast<int>(invocation.threads_per_multiprocessor);
    break;
  case cudaDevAttrMaxThreadsPerBlock:
    *value = 1024;
    break;
  case cudaDevAttrWarpSize:
    *value = 32;
    break;
  case cudaDevAttrComputeCapabilityMajor:
    *value = static_cast<int>(invocation.capability / 10);
    break;
  case cudaDevAttrComputeCapabilityMinor:
    *value = static_cast<int>(invocation.capability % 10);
    break;
  default:
    *value = 0;
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
}
