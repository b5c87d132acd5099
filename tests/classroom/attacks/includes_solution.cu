// Takes the solution from where the course lies.
// lab: 01_naive_atomic
// stopped by: the compiler
// expect: wrong
// BEGIN naive_atomic
#include "../../solutions/01_naive_atomic/naive_atomic.cu"
// END naive_atomic
