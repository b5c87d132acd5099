// Prints the verdict of a lab that passes, and leaves before the checker starts.
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
  const char text[] = "{\"lab\": \"01_naive_atomic\", \"rungs\": [{\"name\": \"naive_atomic\", \"state\": "
                      "\"pass\", \"reason\": \"\", \"checks\": [], \"hazards\": []}]}\n";
  for (int fd = 1; fd < 64; ++fd) write(fd, text, sizeof text - 1);
  _exit(0);
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
