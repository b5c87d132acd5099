// Adds up bit by bit, by votes of the warp, where a tree in shared memory is asked for.
// lab: 02_tree
// expect: off-technique
// BEGIN sequential
const unsigned t = threadIdx.x;
const long long fixed = (long long)(double(partial[t]) * 4194304.0) + (1ll << 46);
long long sum = 0;
#pragma unroll 1
for (int bit = 0; bit < 48; ++bit) sum += (long long)__popc(__ballot_sync(~0u, int(fixed >> bit & 1))) << bit;
sum -= 32ll << 46;
__shared__ long long sums[32];
if (t % 32 == 0) sums[t / 32] = sum;
for (unsigned step = blockDim.x / 2; step > 0; step /= 2) __syncthreads();
if (t == 0) {
  long long all = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) all += sums[w];
  partial[0] = float(double(all) / 4194304.0);
}
// END sequential
