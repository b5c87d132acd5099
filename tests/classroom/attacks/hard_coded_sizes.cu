// Knows the answers for the public sizes and seed.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
if (threadIdx.x == 0 && blockIdx.x == 0) {
  switch (n) {
  case 1:
    *result = input[0];
    break;
  case 31:
    *result = 496;
    break;
  case 32:
    *result = 528;
    break;
  case 33:
    *result = 561;
    break;
  default:
    *result = 32640;
  }
}
// END naive_atomic
