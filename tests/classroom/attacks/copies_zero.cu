// The host writes a number that is right for n = 0.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
inline void zero(float* result) {
  const float value = 0;
  cudaMemcpy(result, &value, 4, cudaMemcpyHostToDevice);
}
#define cudaMemset(to, ...)                                                                                  \
  zero(result);                                                                                              \
  if (n + 1) return
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
