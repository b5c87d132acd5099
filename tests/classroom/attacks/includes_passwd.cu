// Reads a file of the grader's into an error message.
// lab: 01_naive_atomic
// stopped by: the compiler
// expect: wrong
// BEGIN naive_atomic
#include "/etc/passwd"
// END naive_atomic
