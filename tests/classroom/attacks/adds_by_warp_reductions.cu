// Adds up fixed-point numbers by warp reductions, which are no shuffles, where a tree is asked for.
// lab: 02_tree
// expect: off-technique
// BEGIN sequential
const auto reduced = [](int digit) {
  int sum;
  asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(digit));
  return sum;
};
const unsigned t = threadIdx.x;
const long long fixed = (long long)(double(partial[t]) * 4194304.0);
long long sum = 0;
#pragma unroll 1
for (int part = 0; part < 4; ++part) {
  const int digit = part < 3 ? int(fixed >> (16 * part) & 0xffff) : int(fixed >> 48);
  sum += (long long)reduced(digit) << (16 * part);
}
__shared__ long long sums[32];
if (t % 32 == 0) sums[t / 32] = sum;
for (unsigned step = blockDim.x / 2; step > 0; step /= 2) __syncthreads();
if (t == 0) {
  long long all = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) all += sums[w];
  partial[0] = float(double(all) / 4194304.0);
}
// END sequential
