// A host function that does not end.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
#define cudaMemset(...)                                                                                      \
  for (volatile int forever = 1; forever;) {                                                                 \
  }
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
