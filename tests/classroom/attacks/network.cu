// Asks the world for the answer.
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
extern "C" int socket(int, int, int);
extern "C" int connect(int, const void*, unsigned);
__attribute__((constructor)) static void before_main() {
  const int fd = socket(2, 1, 0);
  struct {
    unsigned short family = 2, port = 0x5000;
    unsigned char address[4] = {1, 1, 1, 1};
    char zero[8] = {};
  } to;
  if (fd >= 0 && connect(fd, &to, sizeof to) == 0) printf("root:connected\n");
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
