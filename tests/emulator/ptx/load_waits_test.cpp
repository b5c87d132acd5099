#include "ptx/load_waits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace {

// The loads from global memory in a kernel with these instructions, in order: 'w' for a load with which a
// wait begins, '.' for one that joins others.
std::string waits(std::string_view body) {
  const std::string text = std::string(R"(.version 8.0
.target sm_75
.visible .entry k(.param .u64 p) {
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
  .shared .align 4 .b8 part[64];
)") + std::string(body) + "  ret;\n}\n";
  const auto module = warpfold::ptx::parse(text);
  const auto& function = module.functions.at(0);
  const auto begins = warpfold::ptx::load_waits(function, warpfold::ptx::basic_blocks(function));
  std::string found;
  for (std::size_t i = 0; i < function.body.size(); ++i) {
    const bool is_load =
        function.body[i].opcode == "ld" && !function.body[i].has("shared") && !function.body[i].has("param");
    if (is_load)
      found += begins[i] ? 'w' : '.';
    else
      EXPECT_EQ(begins[i], 0) << function.body[i].name();
  }
  return found;
}

TEST(LoadWaits, LoadsOfOnePieceWaitTogetherThoughTheirValuesAreUsedBetween) {
  EXPECT_EQ(waits("ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; add.f32 %f3, %f1, %f2;"), "w.");
  EXPECT_EQ(
      waits("ld.global.f32 %f1, [%rd1]; add.f32 %f3, %f3, %f1; ld.f32 %f2, [%rd2]; add.f32 %f3, %f3, %f2;"),
      "w.");
}

TEST(LoadWaits, AnAddressOutOfALoadedValueWaitsForIt) {
  EXPECT_EQ(waits("ld.global.u64 %rd2, [%rd1]; ld.global.u64 %rd3, [%rd2+8]; ld.global.u64 %rd4, [%rd3];"),
            "www");
  EXPECT_EQ(waits("ld.global.u32 %r1, [%rd1]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1; "
                  "ld.global.f32 %f1, [%rd2]; ld.global.f32 %f2, [%rd1+64];"),
            "ww.");
  EXPECT_EQ(waits("ld.global.u32 %r1, [%rd1]; setp.ne.u32 %p1, %r1, 0; @%p1 ld.global.f32 %f1, [%rd1+4];"),
            "ww");
  EXPECT_EQ(waits("ld.global.v2.u32 {%r1, %r2}, [%rd1]; cvt.u64.u32 %rd2, %r2; ld.global.f32 %f1, [%rd2];"),
            "ww");
}

TEST(LoadWaits, TwoChainsGoAlongStepByStep) {
  EXPECT_EQ(waits("ld.global.u64 %rd2, [%rd1]; ld.global.u64 %rd3, [%rd2]; ld.global.u64 %rd4, [%rd1+8]; "
                  "ld.global.u64 %rd5, [%rd4];"),
            "ww..");
}

TEST(LoadWaits, ARegisterThatIsOverwrittenWaitsForNothing) {
  EXPECT_EQ(waits("ld.global.u64 %rd2, [%rd1]; mov.u64 %rd2, %rd1; ld.global.f32 %f1, [%rd2];"), "w.");
}

TEST(LoadWaits, WhatOrdersMemoryPartsThem) {
  for (const char* between :
       {"st.global.f32 [%rd2], %f2;", "bar.sync 0;", "membar.gl;", "red.global.add.f32 [%rd2], %f2;"})
    EXPECT_EQ(waits(std::string("ld.global.f32 %f1, [%rd1];") + between + "ld.global.f32 %f2, [%rd1+4];"),
              "ww")
        << between;
  EXPECT_EQ(waits("ld.global.f32 %f1, [%rd1]; st.shared.f32 [part], %f1; ld.global.f32 %f2, [%rd1+4];"),
            "w.");
}

TEST(LoadWaits, LoadsUnderAConditionEachWaitTogetherUntilOneIsUsed) {
  EXPECT_EQ(waits("ld.global.f32 %f1, [%rd1]; @%p1 bra L; ld.global.f32 %f2, [%rd1+4]; L: ld.global.f32 %f3, "
                  "[%rd1+8];"),
            "w..");
  EXPECT_EQ(
      waits("@%p1 bra L; ld.global.f32 %f1, [%rd1]; mov.f32 %f4, %f1; L: @%p2 bra M; ld.global.f32 %f2, "
            "[%rd1+4]; mov.f32 %f5, %f2; M: add.f32 %f3, %f4, %f5;"),
      "w.");
  EXPECT_EQ(waits("@%p1 bra L; ld.global.f32 %f1, [%rd1]; add.f32 %f3, %f3, %f1; L: @%p2 bra M; "
                  "ld.global.f32 %f2, [%rd1+4]; M: add.f32 %f3, %f3, %f2;"),
            "ww");
}

TEST(LoadWaits, ABranchOnALoadedValueWaitsForIt) {
  EXPECT_EQ(waits("ld.global.u32 %r1, [%rd1]; setp.ne.u32 %p1, %r1, 0; @%p1 bra L; ld.global.f32 %f2, "
                  "[%rd1+4]; L:"),
            "ww");
}

TEST(LoadWaits, EachRoundOfALoopWaits) {
  EXPECT_EQ(waits("ld.global.f32 %f1, [%rd1]; L: ld.global.f32 %f2, [%rd1+4]; @%p1 bra L; ld.global.f32 %f3, "
                  "[%rd1+8];"),
            "ww.");
  EXPECT_EQ(waits("ld.shared.f32 %f1, [part]; ld.param.u64 %rd1, [p];"), "");
}

} // namespace
