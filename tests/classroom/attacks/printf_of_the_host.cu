// Formats that the host's printf would read arbitrary memory for.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
if (i == 0) printf("%9$s %S %ls %1$n %*9$d %100000000d %hhn", input, n, 1.0, 2, 3, 4, 5, 6, 7);
if (i == 0) *result = 1;
// END naive_atomic
