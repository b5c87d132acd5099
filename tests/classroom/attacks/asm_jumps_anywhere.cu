// A jump through a table with an index beyond it, and an empty one.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
asm volatile("{ t: .branchtargets one, two; one: brx.idx %0, t; two: }" ::"r"(unsigned(n) | 0x80000000u));
*result = 1;
// END naive_atomic
