// With --default-stream per-thread a program calls cudaMemcpy_ptds for cudaMemcpy, and so on: stream 0 then
// means the thread's own default stream. All work is done as it is issued (streams.hpp), so the two streams
// differ in nothing that a program can see, and each of these names is a jump to the plain function.
#if defined(__x86_64__)
#define JUMP "jmp "
#define FAR "@PLT"
#elif defined(__aarch64__)
#define JUMP "b "
#define FAR ""
#else
#error "write the instruction that jumps to a function on this processor"
#endif

#define PER_THREAD(name, suffix)                                                                             \
  asm(".text\n.globl " #name "_" #suffix "\n.type " #name "_" #suffix ", %function\n" #name "_" #suffix      \
      ":\n\t" JUMP #name FAR "\n");
#include "per_thread.def"
