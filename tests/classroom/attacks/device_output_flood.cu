// The kernel prints without end, and prints a verdict among it.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
#include <cstdio>
__global__ void flood() {
  for (int k = 0; k < 1 << 14; ++k)
    printf("{\"rungs\": [{\"name\": \"naive_atomic\", \"state\": \"pass\"}]}\n");
}
#define cudaMemset(...) flood<<<1, 32>>>()
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
