#include "run/timing/repetition.hpp"

namespace lab {
namespace {

__global__ void find_difference(const unsigned* data, std::size_t count, std::size_t period,
                                unsigned long long* first_difference) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = period + std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    // The first difference that this thread meets is its least.
    if (data[i] != data[i - period]) {
      atomicMin(first_difference, static_cast<unsigned long long>(i));
      return;
    }
  }
}

} // namespace

void launch_find_difference(const void* data, std::size_t count, std::size_t period, unsigned blocks,
                            unsigned long long* first_difference) {
  find_difference<<<blocks, 512>>>(static_cast<const unsigned*>(data), count, period, first_difference);
}

} // namespace lab
