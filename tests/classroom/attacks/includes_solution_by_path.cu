// Takes the solution by its path on the grader's machine.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
#include "@ROOT@/solutions/01_naive_atomic/naive_atomic.cu"
// END naive_atomic
