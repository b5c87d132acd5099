// A host function that launches for ever.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
#define cudaMemset(...)                                                                                      \
  while (true) naive_atomic_kernel<<<1, 32>>>(input, result, n)
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
