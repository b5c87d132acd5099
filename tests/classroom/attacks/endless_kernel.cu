// A kernel that does not end.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
while (true) __threadfence();
// END naive_atomic
