// Calls through a register: what is no function, and one that gives back more than there is room for.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
extern __device__ float gives_much(float);
const auto to = reinterpret_cast<unsigned long long>(&gives_much);
asm volatile("{ .param .b8 r[1]; .param .b8 a[1]; p: .callprototype (.param .b8 _[1]) _ (.param .b8 _[1]); "
             "call (r), %0, (a), p; }" ::"l"(to));
asm volatile("{ .param .b8 r[4096]; q: .callprototype (.param .b8 _[4096]) _ (); call (r), %0, (), q; "
             "st.param.b32 [r+4092], 1; }" ::"l"(to));
asm volatile("{ s: .callprototype _ (); call %0, s; }" ::"l"(to + 123456));
*result = 1;
}
__device__ __noinline__ float gives_much(float x) {
  return x + 1;
}
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
