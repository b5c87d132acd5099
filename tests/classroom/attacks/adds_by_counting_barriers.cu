// Adds up bit by bit: a barrier that counts threads adds. It takes so long that a busy machine may stop it.
// lab: 02_tree
// expect: off-technique|wrong
// BEGIN sequential
const unsigned t = threadIdx.x;
const long long fixed = (long long)(double(partial[t]) * 4194304.0) + (1ll << 46);
long long sum = 0;
#pragma unroll 1
for (int bit = 0; bit < 48; ++bit) sum += (long long)__syncthreads_count(int(fixed >> bit & 1)) << bit;
sum -= (long long)blockDim.x << 46;
if (t == 0) partial[0] = float(double(sum) / 4194304.0);
// END sequential
