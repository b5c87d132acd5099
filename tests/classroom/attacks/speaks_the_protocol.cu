// Answers in the place of the recorder: every host function is done at once.
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
  struct Head {
    unsigned kind, bytes;
    unsigned long value;
  } ready{3, 0, 2}, done{4, 0, 0};
  static char packet[65536];
  write(0, &ready, sizeof ready);
  while (read(0, packet, sizeof packet) > 0) write(0, &done, sizeof done);
  _exit(0);
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
