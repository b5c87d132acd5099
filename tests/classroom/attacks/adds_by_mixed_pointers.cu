// One lane reads shared memory, its neighbour global memory: nothing counted such a request.
// lab: 02_tree
// expect: off-technique|hazard
// BEGIN sequential
const unsigned t = threadIdx.x;
for (unsigned step = blockDim.x / 2; step > 0; step /= 2) __syncthreads();
if (t < 2) {
  std::size_t from = 0, step = 0;
  asm("{ .reg .pred p; setp.eq.u32 p, %2, 0; selp.u64 %0, %3, %4, p; selp.u64 %1, 4, 0, p; }"
      : "=&l"(from), "=&l"(step)
      : "r"(t), "l"(partial), "l"(result));
  float all = 0, value;
#pragma unroll 1
  for (unsigned k = 0; k < blockDim.x; ++k, from += step) {
    asm volatile("ld.f32 %0, [%1];" : "=f"(value) : "l"(from));
    all += value;
  }
  if (t == 0) partial[0] = all;
}
// END sequential
