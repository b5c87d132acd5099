// The same with what only root may read.
// lab: 01_naive_atomic
// stopped by: the compiler
// expect: wrong
// BEGIN naive_atomic
#include "/etc/shadow"
// END naive_atomic
