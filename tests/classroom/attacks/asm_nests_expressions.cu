// Parentheses of a constant, 16,000 deep.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
#define D4(x) x x x x
#define D(x) D4(D4(D4(D4(D4(D4(D4(x)))))))
asm volatile("{ .reg .u32 a; mov.u32 a, " D("(") "1" D(")") "; }");
*result = 1;
// END naive_atomic
