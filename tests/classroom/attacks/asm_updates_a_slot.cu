// Atomics, asynchronous copies and barriers on a call's parameter, which is no memory.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
unsigned got;
__shared__ unsigned word[4];
const unsigned at = unsigned(__cvta_generic_to_shared(word));
asm volatile("{ .param .b8 zz; atom.param.add.u32 %0, [zz], 1; }" : "=r"(got));
asm volatile("{ .param .b8 zz; red.global.add.u32 [zz], 1; }");
asm volatile("{ .param .b8 zz; cp.async.ca.shared.global [%0], [zz], 4; }" ::"r"(at));
asm volatile("{ .param .b8 zz; mbarrier.init.shared.b64 [zz], 1; }");
asm volatile("atom.add.u32 %0, [_Z19naive_atomic_kernelPKfPfm_param_0], 1;" : "=r"(got));
if (threadIdx.x == 0) *result = float(got + at);
// END naive_atomic
