// Members of a warp's instruction that are none, or others.
// lab: 01_naive_atomic
// expect: wrong|off-technique|hazard
// BEGIN naive_atomic
unsigned got = 0, pass = unsigned(n >> 40);
asm volatile("redux.sync.add.s32 %0, %1, %2;" : "=r"(got) : "r"(7), "r"(pass));
asm volatile("{ .reg .pred p; elect.sync %0|p, %1; }" : "=r"(got) : "r"(pass));
asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(got) : "r"(7), "r"(pass));
asm volatile("vote.sync.ballot.b32 %0, 1, %1;" : "=r"(got) : "r"(pass));
asm volatile("{ .reg .pred p; shfl.sync.idx.b32 %0|p, %1, %2, %3, %4; }"
             : "=r"(got)
             : "r"(7), "r"(~0u), "r"(~0u), "r"(pass));
asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; match.any.sync %0, p, 0xffffffff; }"
             : "=r"(got)
             : "r"(pass));
if (threadIdx.x == 0) *result = float(got);
// END naive_atomic
