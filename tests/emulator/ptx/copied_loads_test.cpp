#include "ptx/copied_loads.hpp"

#include "first_load.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace {

// Whether the kernel's first load is one of a value that is copied as a whole.
bool copied(std::string_view body) {
  return has_first_load(body, warpfold::ptx::copied_loads);
}

TEST(CopiedLoads, WhatIsOnlyStoredIsCopied) {
  EXPECT_TRUE(copied("ld.global.v2.u32 {%r1, %r2}, [%rd1]; st.global.v2.u32 [%rd2], {%r1, %r2};"));
  EXPECT_TRUE(copied("ld.global.u64 %rd3, [%rd1]; mov.u64 %rd4, %rd3; selp.b64 %rd5, %rd4, %rd6, %p1; "
                     "st.shared.u64 [%rd2], %rd5;"));
}

TEST(CopiedLoads, AMemberMayBeComputedWith) {
  EXPECT_TRUE(copied("ld.global.u64 %rd3, [%rd1]; cvt.u32.u64 %r1, %rd3; add.u32 %r2, %r1, 1; "
                     "st.global.u64 [%rd2], %rd3;"));
  EXPECT_TRUE(copied("ld.global.u64 %rd3, [%rd1]; mov.b64 {%r1, %r2}, %rd3; add.u32 %r3, %r1, 1; "
                     "shfl.sync.bfly.b32 %r4|%p1, %r2, 1, 31, -1; st.global.u32 [%rd2], %r4;"));
}

TEST(CopiedLoads, WhatIsComputedWithIsUsed) {
  EXPECT_FALSE(copied("ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f1, %f1; st.global.f32 [%rd2], %f1;"));
  EXPECT_FALSE(copied("ld.global.u64 %rd3, [%rd1]; st.global.u64 [%rd3], %rd2;")); // as an address
  // both halves
  EXPECT_FALSE(copied("ld.global.u32 %r1, [%rd1]; mov.b32 {%rs1, %rs2}, %r1; add.u16 %rs3, %rs1, %rs2; "
                      "st.global.u16 [%rd2], %rs3;"));
  EXPECT_FALSE(copied("ld.global.u32 %r1, [%rd1]; shfl.sync.bfly.b32 %r2|%p1, %r1, 1, 31, -1; "
                      "add.u32 %r3, %r2, 1; st.global.u32 [%rd2], %r3;"));
}

} // namespace
