// Keeps the sum of the last run in a variable of the device, and gives that.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
static float kept;
const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
if (i == 0) {
  *result = kept;
  for (std::size_t k = 0; k < n; ++k) kept += input[k];
}
// END naive_atomic
