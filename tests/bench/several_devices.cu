// The same elements, shared out among all devices: each adds up its part, in a stream of its own.
#include "bench.cuh"

__global__ void sum_of_part(const float* input, float* result, size_t n) {
  float sum = 0;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    sum += input[i];
  sum = bench::block_sum_by_shuffle(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

struct Part {
  float *data = nullptr, *result = nullptr;
  cudaStream_t stream = nullptr;
  size_t n = 0;
};

int main() {
  using bench::check;
  int devices = 0, blocks = 0, multiprocessors = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum_of_part, bench::block_size, 0),
        "occupancy");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "multiprocessors");
  const std::vector<float> values = bench::input(bench::elements);
  std::vector<Part> parts(static_cast<size_t>(devices));
  for (int d = 0; d < devices; ++d) {
    Part& part = parts[static_cast<size_t>(d)];
    const size_t first = bench::elements / static_cast<size_t>(devices) * static_cast<size_t>(d);
    part.n = bench::elements / static_cast<size_t>(devices);
    check(cudaSetDevice(d), "cudaSetDevice");
    check(cudaStreamCreate(&part.stream), "cudaStreamCreate");
    check(cudaMalloc(&part.data, part.n * sizeof(float)), "cudaMalloc");
    check(cudaMalloc(&part.result, sizeof(float)), "cudaMalloc");
    check(cudaMemset(part.result, 0, sizeof(float)), "cudaMemset");
    check(cudaMemcpy(part.data, values.data() + first, part.n * sizeof(float), cudaMemcpyHostToDevice),
          "cudaMemcpy");
    check(cudaDeviceSynchronize(), "the input");
  }
  const auto once = [&] {
    for (int d = 0; d < devices; ++d) {
      const Part& part = parts[static_cast<size_t>(d)];
      check(cudaSetDevice(d), "cudaSetDevice");
      sum_of_part<<<blocks * multiprocessors, bench::block_size, 0, part.stream>>>(part.data, part.result,
                                                                                   part.n);
      check(cudaGetLastError(), "launch");
    }
    for (const Part& part : parts) check(cudaStreamSynchronize(part.stream), "kernel");
  };
  once(); // its sum is checked
  float sum = 0;
  for (const Part& part : parts) {
    float of_part = 0;
    check(cudaMemcpy(&of_part, part.result, sizeof of_part, cudaMemcpyDefault), "cudaMemcpy");
    sum += of_part;
  }
  const bench::Time time = bench::time_of(once);
  const float expected =
      bench::cpu_loop({values.begin(), values.begin() + static_cast<long>(parts[0].n) * devices});
  if (sum != expected) {
    std::fprintf(stderr, "several_devices: the sum is %.1f, %.1f expected\n", sum, expected);
    return 1;
  }
  std::printf("{\"devices\": %d, \"n\": %zu, \"ms\": %.4f, \"median_ms\": %.4f}\n", devices, bench::elements,
              time.best, time.median);
}
