#include "ptx/pointer_parameters.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

// The words that the last access of a kernel with these instructions may be counted from: `a` is word 0, `b`
// word 1 and the pair `s` words 2 and 3.
std::uint64_t words(std::string_view body) {
  const std::string text = std::string(R"(.version 8.0
.target sm_75
.global .align 4 .b8 table[64];
.visible .entry k(.param .u64 a, .param .u64 b, .param .align 8 .b8 s[16]) {
  .reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [s+8];
)") + std::string(body) + "\n  ret;\n}\n";
  const auto module = warpfold::ptx::parse(text);
  const std::vector<std::uint32_t> offsets = {0, 8, 16};
  const auto found = warpfold::ptx::pointer_parameters(module.functions.back(), offsets);
  return found[found.size() - 2];
}

TEST(PointerParameters, AnIndexIsAddedToThePointer) {
  EXPECT_EQ(words("cvta.to.global.u64 %rd4, %rd1; mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd4, %rd5; "
                  "ld.global.f32 %f1, [%rd6+4];"),
            1U);
  EXPECT_EQ(words("mad.wide.s32 %rd4, %r1, 4, %rd2; st.global.f32 [%rd4], %f1;"), 2U);
  EXPECT_EQ(words("shl.b64 %rd4, %rd2, 2; add.s64 %rd5, %rd1, %rd4; atom.global.add.f32 %f1, [%rd5], %f2;"),
            1U);
}

TEST(PointerParameters, APartOfAStructIsAWordOfItsOwn) {
  EXPECT_EQ(words("ld.global.f32 %f1, [%rd3];"), 8U);
  EXPECT_EQ(words("ld.param.v2.u64 {%rd4, %rd5}, [s]; ld.global.f32 %f1, [%rd4];"), 4U);
}

TEST(PointerParameters, ALoopAddsToItsOwnPointer) {
  EXPECT_EQ(words("mov.u64 %rd4, %rd1; L: add.s64 %rd4, %rd4, 128; @%p1 bra L; ld.global.f32 %f1, [%rd4];"),
            1U);
}

TEST(PointerParameters, WhatIsChosenOrCountsBytesIsOneOfSeveral) {
  EXPECT_EQ(words("selp.b64 %rd4, %rd1, %rd2, %p1; ld.global.f32 %f1, [%rd4];"), 3U);
  EXPECT_EQ(words("add.s64 %rd4, %rd1, %rd2; ld.global.u8 %r1, [%rd4];"), 3U);
}

TEST(PointerParameters, AnInstructionThatLacksOperandsIsLeftOut) {
  EXPECT_EQ(
      words("mad.lo.s64 %rd4, %rd1; selp.b64 %rd5, %rd1; ld.param.u64 %rd6; ld.global.f32 %f1, [%rd1];"), 1U);
}

TEST(PointerParameters, OtherPointersAreNotKnown) {
  EXPECT_EQ(words("ld.global.u64 %rd4, [%rd1]; add.s64 %rd4, %rd4, %rd2; ld.global.f32 %f1, [%rd4];"), 0U);
  EXPECT_EQ(words("mov.u64 %rd4, table; selp.b64 %rd5, %rd4, %rd1, %p1; ld.global.f32 %f1, [%rd5];"), 0U);
  EXPECT_EQ(words("mov.u64 %rd4, %rd1; L: ld.global.f32 %f1, [%rd4]; mov.u64 %rd4, -4; @%p1 bra L; "
                  "ld.global.f32 %f1, [%rd4];"),
            0U);
  EXPECT_EQ(words("mul.lo.s64 %rd4, %rd1, 2; ld.global.f32 %f1, [%rd4];"), 0U);
}

} // namespace
