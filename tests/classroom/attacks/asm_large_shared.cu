// Shared variables whose sizes add up to more than 32 bits hold.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
asm volatile("{ .shared .align 16 .b8 one[4294967280]; .shared .align 16 .b8 two[64]; .reg .u32 a; mov.u32 "
             "a, one; st.shared.u32 [two], a; st.shared.u32 [one+4294967200], a; }");
*result = 1;
// END naive_atomic
