// Sets and copies more rows than there are bytes, each at the place of the one before it.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
extern "C" long syscall(long, ...);
extern "C" long write(int, const void*, unsigned long);
extern "C" long read(int, void*, unsigned long);
extern "C" int usleep(unsigned);
struct Head {
  unsigned kind, bytes;
  unsigned long value;
};
#define cudaMemset(...)                                                                                      \
  cudaMemset2D(result, 0, 1, 4, ~0ul >> 2), cudaMemset2D(result, 0, 1, 0, ~0ul >> 1),                        \
      cudaMemcpy2D(result, 0, result, 0, 1, ~0ul >> 2, cudaMemcpyDeviceToDevice)
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
