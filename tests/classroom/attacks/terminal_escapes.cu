// An error message that takes the terminal over.
// lab: 01_naive_atomic
// stopped by: the compiler
// expect: wrong
// BEGIN naive_atomic
#error ]0;owned[2J[31mall is well
// END naive_atomic
