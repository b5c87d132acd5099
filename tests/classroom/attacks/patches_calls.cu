// Puts its own functions in the place of the runtime's: weak in the recorder or not, nothing is launched.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
extern "C" cudaError_t cudaMemset(void*, int, size_t) {
  return cudaSuccess;
}
extern "C" cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*) {
  return cudaSuccess;
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
