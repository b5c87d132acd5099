#include "ptx/synchronising.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

// For the volatile and strong loads and the atomics of a kernel with these instructions, in order: 'l' for
// one that takes a lock, 'p' for any other that polls, '-' for an atomic whose value is not used, '.' for the
// rest.
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

TEST(Synchronising, FirstLookOfADebugBuildGoesByWayOfLocalMemory) {
  EXPECT_EQ(found(".reg .b64 %SP; ld.u64 %rd1, [%SP+0]; ld.volatile.u32 %r1, [%rd1]; st.u32 [%SP+8], %r1; "
                  "L: ld.u32 %r2, [%SP+8]; setp.ne.s32 %p1, %r2, 0; @%p1 bra M; ld.u64 %rd2, [%SP+0]; "
                  "ld.volatile.u32 %r3, [%rd2]; st.u32 [%SP+8], %r3; bra L; M:"),
            "pp");
}

// The loads that are guesses in a kernel with these instructions, numbered from 1.
std::string guesses(std::string_view body) {
  const std::string text = std::string(R"(.version 8.0
.target sm_75
.visible .entry k(.param .u64 p) {
  .reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .b64 %SP;
)") + std::string(body) + "  ret;\n}\n";
  const auto module = warpfold::ptx::parse(text);
  const auto& function = module.functions.at(0);
  const auto facts = warpfold::ptx::synchronising(function, warpfold::ptx::basic_blocks(function));
  std::string said;
  int number = 0;
  for (std::size_t i = 0; i < function.body.size(); ++i) {
    if (function.body[i].opcode != "ld") continue;
    ++number;
    if (facts[i].guesses) said += std::to_string(number);
  }
  return said;
}

TEST(Synchronising, PlainLookBeforeALoopOfCompareAndSwapIsAGuess) {
  EXPECT_EQ(guesses("ld.global.u32 %r1, [%rd1]; ld.global.u32 %r7, [%rd1+4]; L: mov.u32 %r4, %r1; "
                    "add.s32 %r2, %r1, %r7; atom.global.cas.b32 %r1, [%rd1], %r4, %r2; "
                    "setp.ne.s32 %p1, %r1, %r4; @%p1 bra L;"),
            "1");
}

TEST(Synchronising, GuessAsAFloatByTheGenericAddress) {
  EXPECT_EQ(guesses("cvta.to.global.u64 %rd2, %rd1; ld.global.f32 %f1, [%rd2]; mov.b32 %r1, %f1; "
                    "L: mov.b32 %f2, %r1; add.f32 %f3, %f2, %f2; mov.b32 %r3, %f3; "
                    "atom.cas.b32 %r4, [%rd1], %r1, %r3; setp.ne.s32 %p1, %r1, %r4; mov.u32 %r1, %r4; "
                    "@%p1 bra L;"),
            "1");
}

TEST(Synchronising, GuessInsideTheLoop) {
  EXPECT_EQ(guesses("L: ld.global.u32 %r1, [%rd1]; add.s32 %r2, %r1, 1; "
                    "atom.global.cas.b32 %r3, [%rd1], %r1, %r2; setp.ne.s32 %p1, %r1, %r3; @%p1 bra L;"),
            "1");
}

TEST(Synchronising, CompareAndSwapThatIsNotRepeatedGuessesNothing) {
  EXPECT_EQ(guesses("ld.global.u32 %r1, [%rd1]; add.s32 %r2, %r1, 1; "
                    "atom.global.cas.b32 %r3, [%rd1], %r1, %r2; st.global.u32 [%rd1+4], %r3;"),
            "");
}

TEST(Synchronising, LookAtAnotherPlaceIsNoGuess) {
  EXPECT_EQ(guesses("ld.global.u32 %r1, [%rd1+8]; L: mov.u32 %r4, %r1; add.s32 %r2, %r1, 1; "
                    "atom.global.cas.b32 %r1, [%rd1], %r4, %r2; setp.ne.s32 %p1, %r1, %r4; @%p1 bra L;"),
            "");
}

TEST(Synchronising, GuessOfADebugBuild) {
  EXPECT_EQ(guesses("ld.u64 %rd2, [%SP+0]; ld.u32 %r1, [%rd2]; st.u32 [%SP+8], %r1; L: ld.u32 %r2, [%SP+8]; "
                    "st.u32 [%SP+12], %r2; ld.u64 %rd3, [%SP+0]; ld.u32 %r3, [%SP+12]; add.s32 %r4, %r3, 1; "
                    "atom.cas.b32 %r5, [%rd3], %r3, %r4; st.u32 [%SP+8], %r5; ld.u32 %r6, [%SP+12]; "
                    "setp.ne.s32 %p1, %r5, %r6; @%p1 bra L;"),
            "2");
}

} // namespace
