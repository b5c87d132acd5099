// Divides by zero and beyond the largest number, which ends a process of the host; and odd shifts.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
int quotient, zero = int(n >> 40), least = int(0x80000000u) + zero, minus = zero - 1;
long long large, longest = (long long)(0x8000000000000000ull) + zero;
unsigned bits;
asm volatile("div.s32 %0, %1, %2;" : "=r"(quotient) : "r"(1), "r"(zero));
asm volatile("rem.s32 %0, %1, %2;" : "=r"(quotient) : "r"(1), "r"(zero));
asm volatile("div.s32 %0, %1, %2;" : "=r"(quotient) : "r"(least), "r"(minus));
asm volatile("rem.s32 %0, %1, %2;" : "=r"(quotient) : "r"(least), "r"(minus));
asm volatile("div.s64 %0, %1, %2;" : "=l"(large) : "l"(longest), "l"((long long)minus));
asm volatile("rem.s64 %0, %1, %2;" : "=l"(large) : "l"(longest), "l"((long long)minus));
asm volatile("rem.u64 %0, %1, %2;" : "=l"(large) : "l"(longest), "l"((long long)zero));
asm volatile("{ .reg .s16 a, b; cvt.s16.s32 a, %1; cvt.s16.s32 b, %2; div.s16 a, a, b; cvt.s32.s16 %0, a; }"
             : "=r"(quotient)
             : "r"(-32768), "r"(minus));
asm volatile("shl.b32 %0, %1, %2;" : "=r"(bits) : "r"(1), "r"(minus));
asm volatile("bfe.u32 %0, %1, %2, %3;" : "=r"(bits) : "r"(1), "r"(255), "r"(255));
asm volatile("bfi.b32 %0, %1, %1, %2, %3;" : "=r"(bits) : "r"(1), "r"(250), "r"(200));
asm volatile("prmt.b32 %0, %1, %1, %2;" : "=r"(bits) : "r"(1), "r"(minus));
asm volatile("shf.l.wrap.b32 %0, %1, %1, %2;" : "=r"(bits) : "r"(1), "r"(minus));
asm volatile("cvt.rzi.s32.f32 %0, %1;" : "=r"(quotient) : "f"(3e38f));
asm volatile("cvt.rzi.u64.f64 %0, %1;" : "=l"(large) : "d"(-1e300));
if (threadIdx.x == 0) *result = float(quotient) + float(large) + float(bits);
// END naive_atomic
