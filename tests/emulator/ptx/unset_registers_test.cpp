#include "ptx/unset_registers.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace {

// The names of the registers that a kernel with these instructions may read unset, separated by spaces.
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

TEST(UnsetRegisters, ABarrierWithAReductionSetsItsResult) {
  EXPECT_EQ(unset("setp.eq.u32 %p1, 0, 0; bar.red.popc.u32 %r1, 0, %p1; add.u32 %r2, %r1, 1;"), "");
  EXPECT_EQ(unset("barrier.red.or.pred %p2, 0, %p1;"), "%p1");
}

TEST(UnsetRegisters, CodeThatNothingReachesIsNotLookedAt) {
  EXPECT_EQ(unset("bra over; add.f32 %f2, %f1, %f1; over: mov.f32 %f3, 0f00000000;"), "");
}

// The names of the registers of such a kernel that the value of %f1 may reach.
std::string reached(std::string_view body) {
  const std::string text = std::string(R"(.version 8.0
.target sm_75
.visible .entry k(.param .u64 p) {
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
)") + std::string(body) + "  ret;\n}\n";
  const auto module = warpfold::ptx::parse(text);
  const auto& function = module.functions.at(0);
  std::uint32_t first = 0;
  while (function.registers[first].name != "%f1") ++first;
  std::string names;
  for (const std::uint32_t index : warpfold::ptx::reached_from(function, {first}))
    names += (names.empty() ? "" : " ") + function.registers[index].name;
  return names;
}

TEST(ReachedFrom, FollowsCopiesArithmeticSelectionsAndShuffles) {
  EXPECT_EQ(reached("mov.f32 %f2, %f1; add.f32 %f3, %f2, %f4; mov.b32 %r1, %f3; "
                    "shfl.sync.down.b32 %r2|%p1, %r1, 1, 31, -1; selp.b32 %r3, 0, %r2, %p2; "
                    "setp.gt.s32 %p3, %r3, 0;"),
            "%p1 %p3 %r1 %r2 %r3 %f1 %f2 %f3");
}

TEST(ReachedFrom, NotThroughMemoryOrAVote) {
  EXPECT_EQ(reached("st.shared.f32 [%rd1], %f1; ld.shared.f32 %f2, [%rd1]; setp.gt.f32 %p1, %f1, %f4; "
                    "vote.sync.ballot.b32 %r1, %p1, -1;"),
            "%p1 %f1");
}

// For a kernel with these lines: '1' for each instruction that belongs to a library, '0' for the others.
std::string of_library(std::string_view name, std::string_view body) {
  const std::string text = ".version 8.0\n.target sm_75\n.visible .entry " + std::string(name) +
                           "(.param .u64 p) {\n.reg .b32 %r<9>;\n" + std::string(body) + "ret;\n}\n" +
                           ".file 1 \"/home/me/sum.cu\"\n" +
                           ".file\t2 \"/usr/local/cuda/include/cccl/cub/block/block_reduce.cuh\"\n" +
                           ".file 3 \"/usr/local/cuda/include/sm_30_intrinsics.hpp\"\n";
  const auto module = warpfold::ptx::parse(text);
  std::string said;
  for (const auto& instruction : module.functions.at(0).body) said += instruction.of_library ? '1' : '0';
  return said;
}

TEST(OfLibrary, IsWhatLiesInItsFilesAndWhatItCalls) {
  EXPECT_EQ(of_library("k", ".loc 1 7 3\nmov.u32 %r1, 0;\n"
                            ".loc 2 50 9, function_name F, inlined_at 1 7 3\nmov.u32 %r1, 1;\n"
                            ".loc 1 3 5, function_name P, inlined_at 2 50 9\nmov.u32 %r1, 2;\n"
                            ".loc 3 9 5, function_name S, inlined_at 1 7 3\nmov.u32 %r1, 3;\n"
                            ".loc 1 8 3\n"),
            "01100");
}

TEST(OfLibrary, IsAKernelOfItsNamespaceWhereNoLineIsKnown) {
  EXPECT_EQ(of_library("_ZN3cub6kernelEv", "mov.u32 %r1, 0;\n"), "11");
  EXPECT_EQ(of_library("_Z6kernelv", "mov.u32 %r1, 0;\n"), "00");
}

} // namespace
