// Four thousand million registers.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
asm volatile("{ .reg .b64 many<4000000000>; }");
*result = 1;
// END naive_atomic
