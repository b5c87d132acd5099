// Sets memory of the grader's.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
#define cudaMemset(to, ...)                                                                                  \
  for (unsigned long at = 0x1000; at < 1ul << 47; at *= 3)                                                   \
    cudaMemset(reinterpret_cast<void*>(at), 0, 1ul << 40);                                                   \
  if (n + 1) return
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
