// Takes the solution by its path on the grader's machine.
// lab: 01_naive_atomic
// stopped by: the compiler
// expect: wrong
// BEGIN naive_atomic
#include "@ROOT@/solutions/01_naive_atomic/naive_atomic.cu"
// END naive_atomic
