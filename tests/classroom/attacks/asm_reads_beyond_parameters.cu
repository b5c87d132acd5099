// Reads what lies behind the kernel's parameters in the process that judges.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
float v = 0;
unsigned bits;
asm volatile("ld.param.u32 %0, [_Z19naive_atomic_kernelPKfPfm_param_0+8];" : "=r"(bits));
for (int i = 0; i < 64; ++i) v += __uint_as_float(bits);
asm volatile("ld.param.u32 %0, [_Z19naive_atomic_kernelPKfPfm_param_0+4096];" : "=r"(bits));
if (threadIdx.x == 0 && blockIdx.x == 0) *result = v + __uint_as_float(bits);
// END naive_atomic
