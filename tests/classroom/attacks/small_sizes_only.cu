// Right for the sizes that a tester would try first.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
if (threadIdx.x == 0 && blockIdx.x == 0)
  for (std::size_t i = 0; i < n && i < 1024; ++i) *result += input[i];
// END naive_atomic
