// A program compiled with --default-stream per-thread calls cudaMemcpy_ptds instead of cudaMemcpy, and so on:
// stream 0 then means the thread's own default stream. All work is done as it is issued (streams.hpp), so the
// two default streams differ only in what they wait for (ordering.hpp): each of these functions notes that
// the program was compiled this way, and jumps to the plain function.
#if defined(__x86_64__)
#define NOTE "movb $1, warpfold_default_stream_is_per_thread(%rip)\n\t"
#define JUMP "jmp "
#define FAR "@PLT"
#elif defined(__aarch64__)
#define NOTE                                                                                                 \
  "adrp x16, warpfold_default_stream_is_per_thread\n\tmov w17, #1\n\t"                                       \
  "strb w17, [x16, :lo12:warpfold_default_stream_is_per_thread]\n\t"
#define JUMP "b "
#define FAR ""
#else
#error "write the instruction that jumps to a function on this processor"
#endif

#define PER_THREAD(name, suffix)                                                                             \
  asm(".text\n.globl " #name "_" #suffix "\n.type " #name "_" #suffix ", %function\n" #name "_" #suffix      \
      ":\n\t" NOTE JUMP #name FAR "\n");
#include "runtime/streams/per_thread.def"
