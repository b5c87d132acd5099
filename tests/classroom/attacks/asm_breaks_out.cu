// PTX by hand that ends the function and brings along an entry of its own.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
asm volatile("}\n.visible .entry _Z19naive_atomic_kernelPKfPfm() {\nret;\n");
// END naive_atomic
