// The host function does.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
#define cudaMemset(to, ...)                                                                                  \
  cudaMemset(const_cast<float*>(input), 0, n * sizeof(float));                                               \
  if (n + 1) return
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
