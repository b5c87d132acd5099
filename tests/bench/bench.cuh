// What the five programs share: an input whose sum is exact, one launch timed several times by the host's
// clock, and the plain CPU loop that the same student would have written, timed in the same run.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace bench {

constexpr int block_size = 256;
constexpr int grid_stride_blocks = 640;
constexpr size_t elements = size_t{1} << 23;
constexpr int repetitions = 7;

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

// Zeros and ones in no simple order: every partial sum in every order is an integer below 2^24, exact in
// float.
inline std::vector<float> input(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = static_cast<float>((static_cast<unsigned>(i) * 2654435761u) >> 31);
  return values;
}

inline float cpu_loop(const std::vector<float>& values) {
  float sum = 0;
  for (float value : values) sum += value;
  return sum;
}

struct Time {
  double best, median;
};

template <class Work>
Time time_of(Work work) {
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    for (size_t k = times.size() - 1; k > 0 && times[k] < times[k - 1]; --k)
      std::swap(times[k], times[k - 1]);
  }
  return {times.front(), times[times.size() / 2]};
}

// Times `launch(input, result, n)`, which adds the sum of the input to a zeroed result, and prints one line
// of JSON. A wrong sum is a failure: the speed of a wrong answer is of no interest.
template <class Launch>
int run(const char* program, Launch launch) {
  const std::vector<float> values = input(elements);
  float *data = nullptr, *result = nullptr, sum = 0, cpu_sum = 0;
  check(cudaMalloc(&data, elements * sizeof(float)), "cudaMalloc");
  check(cudaMalloc(&result, sizeof(float)), "cudaMalloc");
  check(cudaMemcpy(data, values.data(), elements * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
  const auto once = [&] {
    launch(data, result, elements);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "kernel");
  };
  check(cudaMemset(result, 0, sizeof(float)), "cudaMemset");
  once(); // the first launch also decodes the PTX; it is the one whose sum is checked
  check(cudaMemcpy(&sum, result, sizeof(float), cudaMemcpyDeviceToHost), "cudaMemcpy");
  const Time gpu = time_of(once);
  volatile float sink = 0;
  const Time cpu = time_of([&] { sink = cpu_loop(values); });
  cpu_sum = sink;
  cudaFree(data);
  cudaFree(result);
  if (sum != cpu_sum) {
    std::fprintf(stderr, "%s: the sum is %.1f, %.1f expected\n", program, sum, cpu_sum);
    return 1;
  }
  std::printf("{\"program\": \"%s\", \"n\": %zu, \"ms\": %.4f, \"median_ms\": %.4f, \"cpu_loop_ms\": %.4f}\n",
              program, elements, gpu.best, gpu.median, cpu.best);
  return 0;
}

// Sum of one value per thread over the block, in thread 0: shuffles within each warp, then within the first.
__device__ inline float block_sum_by_shuffle(float sum) {
  __shared__ float warp_sums[block_size / 32];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < block_size / 32 ? warp_sums[threadIdx.x] : 0;
    for (int offset = block_size / 64; offset > 0; offset /= 2)
      sum += __shfl_down_sync(0xffffffff, sum, offset);
  }
  return sum;
}

} // namespace bench
