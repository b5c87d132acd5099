// Takes memory without end.
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
#include <cstdlib>
__attribute__((constructor)) static void before_main() {
  while (true) {
    auto* page = static_cast<char*>(malloc(1 << 20));
    for (int i = 0; page && i < 1 << 20; i += 512) page[i] = 1;
  }
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
