// Copies the input to the host and adds it up there.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
#include <vector>
inline void sum_on_host(float* result, const float* input, std::size_t n) {
  std::vector<float> all(n);
  cudaMemcpy(all.data(), input, n * sizeof(float), cudaMemcpyDeviceToHost);
  float sum = 0;
  for (const float value : all) sum += value;
  cudaMemcpy(result, &sum, sizeof sum, cudaMemcpyHostToDevice);
}
#define cudaMemset(to, ...)                                                                                  \
  sum_on_host(result, input, n);                                                                             \
  if (n + 1) return
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
