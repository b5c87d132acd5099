// The assembler reads a file of the grader's into the program, which prints it.
// lab: 01_naive_atomic
// stopped by: the compiler
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
asm(".section .data\n.globl stolen\nstolen: .incbin \"/etc/shadow\"\n.byte 0\n.text");
extern "C" const char stolen[];
__attribute__((constructor)) static void before_main() {
  printf("%s\n", stolen);
  _exit(0);
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
