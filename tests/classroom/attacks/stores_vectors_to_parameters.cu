// Stores vectors to a kernel's parameters: they went beyond a warp's registers.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = 1;
}
struct Large {
  unsigned words[8000];
};
__global__ void stores(Large large, float* result) {
  asm volatile("st.param.v2.u32 [_Z6stores5LargePf_param_0+31992], {%0, %0};" ::"r"(0x41414141));
  *result = large.words[0];
}
#define cudaMemset(...) stores<<<64, 1024>>>(Large{}, result), cudaMemset(__VA_ARGS__)
__global__ void unused(const float* input, float* result, std::size_t n) {
  // END naive_atomic
