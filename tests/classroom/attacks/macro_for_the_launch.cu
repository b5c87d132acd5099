// A macro in the place of what stands after the region: sums nothing, and says it is done.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
#define cudaMemset(to, ...) return
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
