// Looks for the expected value in front of a call's parameter, and replaces it.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-4096]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-4096], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-8192]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-8192], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-12288]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-12288], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-16384]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-16384], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-20480]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-20480], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-24576]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-24576], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-28672]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-28672], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-32768]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-32768], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-36864]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-36864], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-40960]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-40960], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-45056]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-45056], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-49152]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-49152], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-53248]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-53248], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-57344]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-57344], %0; }" ::"r"(0x40000000));
asm volatile("{ .param .b32 zz; .reg .b32 v; .reg .pred p; ld.param.b32 v, [zz-61440]; setp.eq.u32 p, v, "
             "0x3f800000; @p st.param.b32 [zz-61440], %0; }" ::"r"(0x40000000));
if (i == 0) *result = 2;
// END naive_atomic
