// Lines and files with the largest numbers there are.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
asm volatile(".loc 4294967295 4294967295 4294967295");
asm volatile(
    ".loc 1 4294967295 4294967295, function_name $L__info_string0, inlined_at 4294967295 4294967295 1");
*result = 1;
// END naive_atomic
