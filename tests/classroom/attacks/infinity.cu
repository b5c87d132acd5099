// Gives infinity, within which every error lies.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
*result = __int_as_float(0x7f800000);
// END naive_atomic
