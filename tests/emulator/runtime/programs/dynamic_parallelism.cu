// Kernels that launch kernels (built with -rdc=true): what the host sees once the parent is complete,
// whatever the device made of the order that CUDA leaves open.
#include "show.hpp"

constexpr unsigned threads = 32;

__global__ void add(int* values, int amount) {
  atomicAdd(&values[threadIdx.x], amount);
}

__global__ void in_several_streams(int* values) {
  if (threadIdx.x != 0) return;
  add<<<1, threads>>>(values, 1);
  add<<<1, threads, 0, cudaStreamFireAndForget>>>(values, 10);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  add<<<1, threads, 0, stream>>>(values, 100);
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(nullptr, event, 0);
  add<<<1, threads>>>(values, 1000);
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
}

// What a block launches into its own stream runs in order; the tail stream comes after all of it.
__global__ void multiply(int* values, int factor) {
  values[threadIdx.x] *= factor;
}
__global__ void set(int* values, int value) {
  values[threadIdx.x] = value;
}
__global__ void in_order(int* values) {
  if (threadIdx.x != 0) return;
  multiply<<<1, threads, 0, cudaStreamTailLaunch>>>(values, 10);
  set<<<1, threads>>>(values, 3);
  multiply<<<1, threads>>>(values, 7);
  add<<<1, threads>>>(values, 1);
}

// A tree of launches: each of its leaves counts once.
__global__ void split(int* leaves, int levels) {
  if (levels == 0)
    atomicAdd(leaves, 1);
  else
    split<<<1, 2>>>(leaves, levels - 1);
}

// A tail launch follows all that the kernel before it, and what that launched, has done.
__global__ void repeat(int* values, int times) {
  values[1] = values[0];
  if (times == 0) return;
  add<<<1, 1>>>(values, 1);
  repeat<<<1, 1, 0, cudaStreamTailLaunch>>>(values, times - 1);
}

// On an H100 with CUDA 13.0 both calls return cudaSuccess and the memory stays as it was; the emulator does
// what the Programming Guide says.
__global__ void copies(int* values) {
  cudaMemsetAsync(values, 1, threads * sizeof(int), nullptr);
  cudaMemcpyAsync(values + threads, values, threads * sizeof(int), cudaMemcpyDeviceToDevice, nullptr);
}

__global__ void too_many_threads(int* values) {
  add<<<1, 2048>>>(values, 1);
  values[0] = cudaPeekAtLastError();
  values[1] = cudaGetLastError();
  values[2] = cudaGetLastError();
  cudaGetDevice(&values[3]);
  cudaGetDeviceCount(&values[4]);
  printf("%s\n", cudaGetErrorName(static_cast<cudaError_t>(values[0])));
}

__global__ void own_memory(int* values) {
  int* own = nullptr;
  values[0] = cudaMalloc(&own, threads * sizeof(int));
  own[5] = 42;
  values[1] = own[5];
  values[2] = cudaFree(own);
}

int main() {
  int* values = nullptr;
  SHOW(cudaMallocManaged(&values, 2 * threads * sizeof(int)));
  const auto fresh = [&] {
    for (unsigned i = 0; i < 2 * threads; ++i) values[i] = 0;
  };
  fresh();
  in_several_streams<<<1, threads>>>(values);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(values[0]);
  SHOW_VALUE(values[threads - 1]);
  in_order<<<1, threads>>>(values);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(values[0]);
  fresh();
  split<<<1, 2>>>(values, 6);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(values[0]);
  fresh();
  repeat<<<1, 1>>>(values, 500);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(values[0]);
  SHOW_VALUE(values[1]);
  copies<<<1, 1>>>(values);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(values[0]);
  SHOW_VALUE(values[2 * threads - 1]);
  too_many_threads<<<1, 1>>>(values);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(values[0]);
  SHOW_VALUE(values[1]);
  SHOW_VALUE(values[2]);
  SHOW_VALUE(values[3]);
  SHOW_VALUE(values[4]);
  own_memory<<<1, 1>>>(values);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(values[0]);
  SHOW_VALUE(values[1]);
  SHOW_VALUE(values[2]);
  SHOW(cudaFree(values));
}
