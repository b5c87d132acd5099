// Reads the memory of its launch and of the machine, through a pointer to its own local variable.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
float here = 1;
volatile float* at = &here;
float sum = 0;
for (int k = 0; k < 1 << 14; k += 512) sum += at[k];
if (threadIdx.x == 0 && blockIdx.x == 0) *result = sum;
// END naive_atomic
