// What most of the programs use: two streams, and memory of each kind.
#pragma once

#include "cases.hpp"

#include <cstddef>

constexpr int n = 1000;
constexpr std::size_t bytes = n * sizeof(int);

__global__ void fill(int* out, int count, int value) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = value;
}
__global__ void scale(int* out, const int* in, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = 2 * in[i];
}

// Two streams, some device memory, some pinned memory.
struct Things {
  cudaStream_t one, two;
  int *a, *b, *pinned;
  explicit Things(unsigned flags = cudaStreamNonBlocking) {
    OK(cudaStreamCreateWithFlags(&one, flags));
    OK(cudaStreamCreateWithFlags(&two, flags));
    OK(cudaMalloc(&a, bytes));
    OK(cudaMalloc(&b, bytes));
    OK(cudaMallocHost(&pinned, bytes));
    OK(cudaMemset(a, 0, bytes));
    OK(cudaMemset(b, 0, bytes));
    std::memset(pinned, 0, bytes);
    OK(cudaDeviceSynchronize());
  }
};

inline cudaEvent_t new_event() {
  cudaEvent_t event;
  OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}
