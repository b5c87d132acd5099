// Addresses in front of shared memory, whose sum with the length of the access is 0.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
asm volatile("{ .reg .b64 t; cvt.u64.u32 t, %0; mul.lo.u64 t, t, 4; add.u64 t, t, -128; st.shared.u32 [t], "
             "0x3f800000; }" ::"r"(threadIdx.x % 32));
if (i < n) *result = 1;
// END naive_atomic
