// Stores at every 256 kB behind a call's parameter: the process that judges once waited for ever after it.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
asm volatile("{ .param .b32 zz; st.param.b32 [zz+262144], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+524288], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+786432], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+1048576], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+1310720], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+1572864], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+1835008], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+2097152], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+2359296], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+2621440], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+2883584], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+3145728], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+3407872], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+3670016], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+3932160], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+4194304], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+4456448], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+4718592], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+4980736], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+5242880], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+5505024], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+5767168], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+6029312], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+6291456], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+6553600], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+6815744], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+7077888], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+7340032], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+7602176], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+7864320], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+8126464], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+8388608], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+8650752], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+8912896], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+9175040], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+9437184], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+9699328], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+9961472], %0; }" ::"r"(7));
asm volatile("{ .param .b32 zz; st.param.b32 [zz+10223616], %0; }" ::"r"(7));
if (i < n) *result = 1;
// END naive_atomic
