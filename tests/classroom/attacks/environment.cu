// Sets what the emulator and the loader look at, and starts itself again.
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
extern "C" char* getenv(const char*);
extern "C" int setenv(const char*, const char*, int);
extern "C" int execv(const char*, char* const*);
__attribute__((constructor)) static void before_main() {
  if (getenv("WARPFOLD_CHECKS")) return;
  setenv("WARPFOLD_CHECKS", "none", 1), setenv("LD_PRELOAD", "/tmp/mine.so", 1),
      setenv("WARPFOLD_EMULATOR_DIR", "/tmp", 1);
  char* words[] = {const_cast<char*>("program"), nullptr};
  execv("/proc/self/exe", words);
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
