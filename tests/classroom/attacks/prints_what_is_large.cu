// A format of 10 KB whose 1,250 conversions each print 10 KB.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
__shared__ char format[10000], text[10000];
for (unsigned i = threadIdx.x; i < 9999; i += blockDim.x) format[i] = i % 2 ? 's' : '%', text[i] = 'x';
format[9998] = text[9999] = 0;
__syncthreads();
__shared__ void* arguments[1250];
for (auto& each : arguments) each = text;
asm volatile("{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %0; st.param.b64 [b], %1; "
             "call.uni (r), vprintf, (a, b); }" ::"l"(format),
             "l"(arguments));
if (n > 1ul << 40) printf("x");
*result = 1;
// END naive_atomic
