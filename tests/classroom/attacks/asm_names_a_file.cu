// PTX by hand that gives its lines to a file of the grader's, so that a message quotes it.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
asm volatile(".file 9 \"/etc/shadow\"");
asm volatile(".loc 9 1 0\n\tst.global.f32 [%0], 0f3f800000;" ::"l"(16ul) : "memory");
// END naive_atomic
