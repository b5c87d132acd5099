// Writes over the code of the recorder.
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
extern "C" int mprotect(void*, unsigned long, int);
__attribute__((constructor)) static void before_main() {
  auto* page =
      reinterpret_cast<unsigned char*>(reinterpret_cast<unsigned long>(&lab::scratch_bytes) & ~4095ul);
  mprotect(page, 16384, 7);
  for (int i = 0; i < 8192; ++i) page[i] = 0xc3; // ret
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
