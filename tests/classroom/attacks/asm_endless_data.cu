// PTX by hand that declares more memory than there is.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
asm volatile(".global .align 8 .b8 flood[1000000000000];");
// END naive_atomic
