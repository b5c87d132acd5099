// A constructor ends the program as a test that was skipped.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
extern "C" int printf(const char*, ...);
extern "C" [[noreturn]] void _exit(int);
extern "C" long write(int, const void*, unsigned long);
extern "C" long read(int, void*, unsigned long);
extern "C" int open(const char*, int, ...);
extern "C" long syscall(long, ...);
extern "C" int usleep(unsigned);
__attribute__((constructor)) static void before_main() {
  _exit(77);
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
