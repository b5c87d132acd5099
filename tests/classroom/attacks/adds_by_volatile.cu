// One thread adds up the block, by volatile reads, which no promise counted; the others only wait.
// lab: 02_tree
// expect: off-technique
// BEGIN sequential
const unsigned t = threadIdx.x;
for (unsigned step = blockDim.x / 2; step > 0; step /= 2) __syncthreads();
if (t == 0) {
  volatile float* all = partial;
  float sum = 0;
  for (unsigned k = 0; k < blockDim.x; ++k) sum += all[k];
  partial[0] = sum;
}
// END sequential
