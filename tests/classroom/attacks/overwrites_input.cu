// Makes the input what it would like it to be.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
if (i < n) const_cast<float*>(input)[i] = 0;
if (i == 0) *result = 0;
// END naive_atomic
