#include "ptx/synchronising.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

// Of the volatile and strong loads and the atomics of a kernel of these instructions, in order: 'l' for one
// that takes a lock, 'p' for any other that polls, '-' for an atomic whose value nobody uses, '.' for what is
// none of these.
std::string found(std::string_view body) {
  const std::string text = std::string(R"(.version 8.0
.target sm_75
.visible .entry k(.param .u64 p) {
  .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
)") + std::string(body) + "  ret;\n}\n";
  const auto module = warpfold::ptx::parse(text);
  const auto& function = module.functions.at(0);
  const auto facts = warpfold::ptx::synchronising(function, warpfold::ptx::basic_blocks(function));
  std::string said;
  for (std::size_t i = 0; i < function.body.size(); ++i) {
    const auto& instruction = function.body[i];
    const bool counts =
        instruction.opcode == "atom" || instruction.has("volatile") || instruction.has("acquire");
    if (counts && instruction.opcode != "st")
      said += facts[i].takes_lock ? 'l' : facts[i].polls ? 'p' : facts[i].ignores_value ? '-' : '.';
    else
      EXPECT_FALSE(facts[i].polls) << instruction.name();
  }
  return said;
}

TEST(Synchronising, LoadInALoopThatItEndsPolls) {
  EXPECT_EQ(found("L: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L;"), "p");
  EXPECT_EQ(found("L: ld.acquire.gpu.global.u32 %r1, [%rd1+8]; setp.ne.s32 %p1, %r1, %r2; @%p1 bra L;"), "p");
}

TEST(Synchronising, LoadOutsideOfALoopDoesNot) {
  EXPECT_EQ(found("ld.volatile.global.u32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L; add.s32 %r2, "
                  "%r1, 1; L: "),
            ".");
}

TEST(Synchronising, LoadWhoseAddressMovesOnDoesNot) {
  EXPECT_EQ(found("L: ld.volatile.global.u32 %r1, [%rd1]; add.s64 %rd1, %rd1, 4; setp.eq.s32 %p1, %r1, 0; "
                  "@%p1 bra L;"),
            ".");
}

TEST(Synchronising, LoadInALoopThatSomethingElseEndsDoesNot) {
  EXPECT_EQ(found("L: ld.volatile.global.u32 %r1, [%rd1]; add.s32 %r2, %r2, %r1; add.s32 %r3, %r3, 1; "
                  "setp.lt.s32 %p1, %r3, 10; @%p1 bra L;"),
            ".");
}

TEST(Synchronising, AnAddressThatIsWorkedOutAnewIsTheSameAddress) {
  EXPECT_EQ(
      found("L: mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; ld.volatile.global.u32 %r1, [%rd4]; "
            "setp.eq.s32 %p1, %r1, 0; @%p1 bra L;"),
      "p");
}

TEST(Synchronising, InnerLoopCountsByItself) {
  EXPECT_EQ(found("L: add.s64 %rd1, %rd1, 4; M: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0; "
                  "@%p1 bra M; "
                  "add.s32 %r3, %r3, 1; setp.lt.s32 %p2, %r3, 10; @%p2 bra L;"),
            "p");
}

TEST(Synchronising, ExchangeThatALoopRepeatsTakesALock) {
  EXPECT_EQ(found("L: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra L; "
                  "atom.global.exch.b32 %r2, [%rd1], 0;"),
            "l-");
}

TEST(Synchronising, LockTakenInABranchOfTheLoop) {
  EXPECT_EQ(found("L: atom.global.cas.b32 %r3, [%rd1], 0, 1; setp.eq.s32 %p1, %r3, 0; setp.ne.s32 %p2, %r3, "
                  "0; @%p2 bra M; "
                  "atom.global.exch.b32 %r6, [%rd1], 0; M: not.pred %p3, %p1; @%p3 bra L;"),
            "l-");
}

TEST(Synchronising, FirstLookBeforeTheLoopPollsToo) {
  EXPECT_EQ(
      found("ld.volatile.global.u32 %r1, [%rd1]; ld.volatile.global.u32 %r9, [%rd1+4]; mov.u32 %r2, %r1; "
            "setp.ne.s32 %p1, %r1, 0; @%p1 bra M; L: ld.volatile.global.u32 %r3, [%rd1]; mov.u32 %r2, %r3; "
            "setp.eq.s32 %p1, %r3, 0; @%p1 bra L; M: add.s32 %r4, %r2, %r9;"),
      "p.p");
}

TEST(Synchronising, UpdateByCompareAndSwapTakesNoLock) {
  EXPECT_EQ(found("L: add.s32 %r2, %r1, 5; mov.u32 %r4, %r1; atom.global.cas.b32 %r1, [%rd1], %r4, %r2; "
                  "setp.ne.s32 %p1, %r1, %r4; @%p1 bra L;"),
            "p");
}

TEST(Synchronising, TicketThatDecidesLaterOnPollsNothing) {
  EXPECT_EQ(
      found("atom.global.add.u32 %r1, [%rd1], 1; setp.ne.s32 %p1, %r1, 3; @%p1 bra L; mov.u32 %r2, 1; L: "),
      ".");
}

TEST(Synchronising, VariableOfADebugBuildLiesInLocalMemory) {
  EXPECT_EQ(found(".reg .b64 %SP; L: ld.u64 %rd1, [%SP+0]; ld.volatile.u32 %r1, [%rd1]; st.u32 [%SP+8], %r1; "
                  "ld.u32 %r2, [%SP+8]; setp.eq.s32 %p1, %r2, 0; @%p1 bra L;"),
            "p");
}

} // namespace
