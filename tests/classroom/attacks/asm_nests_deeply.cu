// Braces, parentheses and lists in one another, 16,000 deep: a parser that calls itself has no stack left.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
#define D4(x) x x x x
#define D(x) D4(D4(D4(D4(D4(D4(D4(x)))))))
asm volatile(D("{") D("}"));
*result = 1;
// END naive_atomic
