// PTX by hand that no reader understands.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
asm volatile("mov.u32 %nothing, [[[[;");
// END naive_atomic
