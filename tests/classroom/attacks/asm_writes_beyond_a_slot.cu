// Writes far behind a parameter of a call, into whatever lies there.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
asm volatile("{ .param .b32 zz; st.param.b32 [zz+400000], %0; }" ::"r"(0x3f800000));
if (i < n) *result = 1;
// END naive_atomic
