// What NVIDIA's libraries launch to reduce, scan and sort. Nothing is wrong with it, so nothing may be said
// of it.
#include "clean.cuh"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

// Runs one of CUB's algorithms, which ask for their memory first.
template <class Algorithm>
void run_cub(Algorithm algorithm) {
  std::size_t bytes = 0;
  expect_success(algorithm(nullptr, bytes));
  thrust::device_vector<char> memory(bytes);
  expect_success(algorithm(thrust::raw_pointer_cast(memory.data()), bytes));
}

int main() {
  for (const int n : {1, 257, 100003}) {
    std::vector<int> numbers = some_numbers(n);
    thrust::device_vector<int> input(numbers), output(n);
    const int* in = thrust::raw_pointer_cast(input.data());
    int* out = thrust::raw_pointer_cast(output.data());
    const int sum = std::accumulate(numbers.begin(), numbers.end(), 0);

    run_cub(
        [&](void* memory, std::size_t& bytes) { return cub::DeviceReduce::Sum(memory, bytes, in, out, n); });
    expect_equal("cub::DeviceReduce::Sum", int(output[0]), sum);
    run_cub(
        [&](void* memory, std::size_t& bytes) { return cub::DeviceReduce::Max(memory, bytes, in, out, n); });
    expect_equal("cub::DeviceReduce::Max", int(output[0]), *std::max_element(numbers.begin(), numbers.end()));
    run_cub([&](void* memory, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(memory, bytes, in, out, n); // decoupled look-back
    });
    expect_equal("cub::DeviceScan::InclusiveSum", int(output[n - 1]), sum);

    expect_equal("thrust::reduce", thrust::reduce(input.begin(), input.end()), sum);
    thrust::sort(input.begin(), input.end());
    std::sort(numbers.begin(), numbers.end());
    std::vector<int> sorted(n);
    thrust::copy(input.begin(), input.end(), sorted.begin());
    expect_equal("thrust::sort", sorted == numbers, true);
  }
}
