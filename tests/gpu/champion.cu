// The champion of lab 09, in a file of its own: lab 12, which is measured beside it, has other kernels by the
// same names.
#include "solved_speed_of_light.cuh"

void champion_sum(const float* input, float* result, std::size_t n, cudaStream_t stream) {
  reduce(input, result, n, Add(), 0, stream);
}
