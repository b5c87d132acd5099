// A wide value for a narrow register, which lies at the end of what the warp has.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
asm volatile(
    "{ .reg .b16 t; .reg .b64 w; mov.b64 w, -1; mov.u64 t, w; ld.global.v2.u64 {t, w}, [%0]; }" ::"l"(input));
if (i < n) *result = 1;
// END naive_atomic
