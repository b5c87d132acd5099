// More host threads than devices, each with work of its own: two threads share a device.
#include "show.hpp"

#include <thread>
#include <vector>

constexpr int n = 20000, threads = 256, rounds = 30;

__global__ void sum_blocks(const int* input, int* sums, int count) {
  __shared__ int partial[threads];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  partial[threadIdx.x] = i < count ? input[i] : 0;
  __syncthreads();
  for (int stride = threads / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

void work(int device, int first, int& wrong) {
  const int blocks = (n + threads - 1) / threads;
  std::vector<int> values(n), sums(blocks);
  int expected = 0;
  for (int& value : values) expected += value = first++ % 100;
  int *input = nullptr, *found = nullptr;
  cudaStream_t stream = nullptr;
  cudaSetDevice(device);
  cudaStreamCreate(&stream);
  cudaMalloc(&input, n * sizeof(int));
  cudaMalloc(&found, blocks * sizeof(int));
  cudaMemcpyAsync(input, values.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream);
  for (int round = 0; round < rounds; ++round) {
    sum_blocks<<<blocks, threads, 0, stream>>>(input, found, n);
    cudaMemcpyAsync(sums.data(), found, blocks * sizeof(int), cudaMemcpyDeviceToHost, stream);
    int sum = 0;
    if (cudaStreamSynchronize(stream) == cudaSuccess)
      for (const int of_block : sums) sum += of_block;
    if (sum != expected) ++wrong;
  }
  cudaFree(input);
  cudaFree(found);
  cudaStreamDestroy(stream);
}

int main() {
  int count = 0;
  SHOW(cudaGetDeviceCount(&count));
  std::vector<int> wrong(8);
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t) all.emplace_back(work, t % count, 17 * t, std::ref(wrong[t]));
  for (std::thread& each : all) each.join();
  int sum = 0;
  for (const int of_thread : wrong) sum += of_thread;
  SHOW_VALUE(sum);
  SHOW(cudaGetLastError());
}
