// Gives NaN, which no comparison finds different.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = __int_as_float(0x7fc00000);
// END naive_atomic
