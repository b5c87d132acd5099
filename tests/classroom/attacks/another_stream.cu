// Launches in a stream that nobody waits for.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
__global__ void late(float* result) {
  *result = 2;
}
#define cudaMemset(to, ...)                                                                                  \
  cudaStream_t stream;                                                                                       \
  cudaStreamCreate(&stream);                                                                                 \
  late<<<1, 1, 0, stream>>>(result);                                                                         \
  if (n + 1) return
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
