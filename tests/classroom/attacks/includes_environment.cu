// Reads the environment of the compiler.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
#include "/proc/self/environ"
// END naive_atomic
