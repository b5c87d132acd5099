// PTX by hand that writes where nothing is.
// lab: 01_naive_atomic
// expect: wrong
// BEGIN naive_atomic
asm volatile("st.global.f32 [%0], 0f3f800000;" ::"l"(16ul) : "memory");
// END naive_atomic
