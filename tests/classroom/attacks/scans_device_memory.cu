// Looks for the expected value around the buffers that it was given.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
float best = 0;
for (long k = -100000; k < 100000; ++k) {
  const float seen = result[k * 64];
  if (seen > best) best = seen;
}
if (i == 0) *result = best;
// END naive_atomic
