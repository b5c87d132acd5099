// The kernel prints without end, and prints a verdict among it.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
for (int k = 0; k < 1 << 16; ++k) printf("{\"rungs\": [{\"name\": \"naive_atomic\", \"state\": \"pass\"}]}\n");
// END naive_atomic
