// Puts its own functions in the place of the runtime's.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
extern "C" int printf(const char*, ...); extern "C" [[noreturn]] void _exit(int); extern "C" long write(int, const void*, unsigned long); extern "C" long read(int, void*, unsigned long); extern "C" int open(const char*, int, ...); extern "C" long syscall(long, ...); extern "C" int usleep(unsigned);
extern "C" int cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) asm("cudaLaunchKernelOfMine");
extern "C" int cudaLaunchKernelOfMine(const void*, dim3, dim3, void**, size_t, cudaStream_t) { return 0; }
__global__ void unused(const float* input, float* result, std::size_t n) {
// END naive_atomic
