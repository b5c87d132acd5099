#include "ptx/unset_registers.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace {

// The names of the registers that a kernel of these instructions may read unset, separated by blanks.
std::string unset(std::string_view body) {
  const std::string text = std::string(R"(.version 8.0
.target sm_75
.visible .entry k(.param .u64 p) {
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
)") + std::string(body) + "  ret;\n}\n";
  const auto module = warpfold::ptx::parse(text);
  const auto& function = module.functions.at(0);
  std::string names;
  for (const std::uint32_t index :
       warpfold::ptx::unset_registers(function, warpfold::ptx::basic_blocks(function)))
    names += (names.empty() ? "" : " ") + function.registers[index].name;
  return names;
}

TEST(UnsetRegisters, WhatIsWrittenFirstIsSet) {
  EXPECT_EQ(unset("ld.param.u64 %rd1, [p]; ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd1], %f1;"), "");
}

TEST(UnsetRegisters, AnAccumulatorThatNothingWasPutInto) {
  EXPECT_EQ(unset("ld.param.u64 %rd1, [p]; ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f2, %f1;"), "%f2");
}

TEST(UnsetRegisters, OneBranchMayLeaveItUnset) {
  constexpr std::string_view branch =
      "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra skip; mov.f32 %f1, "
      "0f00000000; skip: add.f32 %f2, %f1, %f1;";
  EXPECT_EQ(unset(branch), "%f1");
  EXPECT_EQ(unset("mov.f32 %f1, 0f3F800000; " + std::string(branch)), "");
}

TEST(UnsetRegisters, AGuardedInstructionMayLeaveItUnset) {
  EXPECT_EQ(unset("mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 mov.f32 %f1, 0f00000000; add.f32 %f2, "
                  "%f1, %f1;"),
            "%f1");
}

TEST(UnsetRegisters, ALoopSetsForWhatComesAfterItsFirstPass) {
  EXPECT_EQ(
      unset("mov.u32 %r1, 0; again: add.u32 %r1, %r1, 1; mov.u32 %r2, %r1; setp.lt.u32 %p1, %r1, 9; @%p1 bra "
            "again; add.u32 %r3, %r2, 1;"),
      "");
}

TEST(UnsetRegisters, AStoresAddressIsRead) {
  EXPECT_EQ(unset("mov.f32 %f1, 0f00000000; st.global.f32 [%rd1], %f1;"), "%rd1");
}

TEST(UnsetRegisters, CodeThatNothingReachesIsNotLookedAt) {
  EXPECT_EQ(unset("bra over; add.f32 %f2, %f1, %f1; over: mov.f32 %f3, 0f00000000;"), "");
}

} // namespace
