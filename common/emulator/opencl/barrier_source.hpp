// OpenCL's barrier, which libclc compiles without its flags.
#pragma once

namespace warpfold::opencl {

// Included before every program. The emulator reads the pragmas (emulator/ptx): a barrier orders only the
// memory that its flags name. The function has no lines of its own, so that its line is that of the call.
// Clang knows CUDA's barrier for this target too, and no other OpenCL does.
inline constexpr const char* barrier_source = R"(
#define __syncthreads() _Pragma("GCC error \"__syncthreads is CUDA's name; in OpenCL C it is barrier(flags)\"")
#define barrier warpfold_barrier
__attribute__((convergent, always_inline, nodebug, internal_linkage)) void barrier(cl_mem_fence_flags flags) {
  if (flags == CLK_LOCAL_MEM_FENCE)
    __asm__ volatile(".pragma \"warpfold orders shared\";\n\tbar.sync 0;" ::: "memory");
  else if (flags == CLK_GLOBAL_MEM_FENCE)
    __asm__ volatile(".pragma \"warpfold orders global\";\n\tbar.sync 0;" ::: "memory");
  else if (flags == 0)
    __asm__ volatile(".pragma \"warpfold orders nothing\";\n\tbar.sync 0;" ::: "memory");
  else
    __asm__ volatile("bar.sync 0;" ::: "memory");
}
)";

} // namespace warpfold::opencl
