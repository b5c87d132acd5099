// A file without an end.
// lab: 01_naive_atomic
// stopped by: the compiler
// expect: wrong
// BEGIN naive_atomic
#include "/dev/zero"
// END naive_atomic
