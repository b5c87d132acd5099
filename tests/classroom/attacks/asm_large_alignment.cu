// A large alignment, and variables that fill what it leaves.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
asm volatile("{ .shared .align 1048576 .b8 one[4]; .shared .b8 two[4]; st.shared.u32 [one], 1; }");
asm volatile("{ .local .align 1048576 .b8 one[4]; .local .align 1 .b8 two[4]; st.local.u32 [two+0], 1; }");
*result = 1;
// END naive_atomic
