// Only barriers where the technique is counted, by numbers that once were fixed; else one thread adds up.
// lab: 02_tree
// expect: wrong|off-technique|hazard
// BEGIN sequential
const unsigned t = threadIdx.x;
if (n == 327680 || n == 5003 || (n == 100003 && std::size_t(input) % 16 == 0)) {
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) __syncthreads();
} else if (t == 0) {
  float sum = 0;
  for (std::size_t k = std::size_t{blockIdx.x} * blockDim.x;
       k < n && k < (std::size_t{blockIdx.x} + 1) * blockDim.x; ++k)
    sum += input[k];
  partial[0] = sum;
}
// END sequential
