// Leaves a process behind that goes on for an hour.
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
extern "C" int fork();
extern "C" int setsid();
extern "C" int prctl(int, ...);
__attribute__((constructor)) static void before_main() {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      prctl(15, "@LEFT@", 0, 0, 0);
      for (int i = 0; i < 3600; ++i) usleep(1000000);
    }
    _exit(0);
  }
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
