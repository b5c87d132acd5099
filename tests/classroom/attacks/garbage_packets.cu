// Sends packets that mean nothing.
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
  static unsigned char packet[4096];
  unsigned state = 1;
  struct Head {
    unsigned kind, bytes;
    unsigned long value;
  } ready{3, 0, 2};
  write(0, &ready, sizeof ready);
  for (int i = 0; i < 2000; ++i) {
    for (unsigned char& byte : packet) byte = (state = state * 1664525 + 1013904223) >> 24;
    write(0, packet, 1 + state % sizeof packet);
  }
  _exit(0);
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
