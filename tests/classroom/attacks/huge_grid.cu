// A grid of two thousand million blocks.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
__global__ void nothing() {}
#define cudaMemset(...) nothing<<<2147483647u, 1024>>>()
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
