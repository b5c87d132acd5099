#include "ptx/restored_loads.hpp"

#include "first_load.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace {

// Whether the kernel's first load is one that is only stored again.
bool restored(std::string_view body) {
  return has_first_load(body, warpfold::ptx::restored_loads);
}

TEST(RestoredLoads, ElementsThatAreStoredWhereTheyCameFromAreRestored) {
  EXPECT_TRUE(restored("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]; "
                       "st.global.v4.f32 [%rd1], {%f1, %f6, %f5, %f4};"));
  EXPECT_TRUE(restored("ld.global.v2.f32 {%f1, %f2}, [%rd1+8]; mov.f32 %f3, %f4; "
                       "st.global.v2.f32 [%rd1+8], {%f3, %f2};"));
}

TEST(RestoredLoads, ElementsThatAreUsedAreRead) {
  // at another place of the vector
  EXPECT_FALSE(restored("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]; "
                        "st.global.v4.f32 [%rd1], {%f1, %f3, %f2, %f4};"));
  // by another instruction
  EXPECT_FALSE(restored("ld.global.v2.f32 {%f1, %f2}, [%rd1]; add.f32 %f3, %f1, %f1; "
                        "st.global.v2.f32 [%rd1], {%f3, %f2};"));
  EXPECT_FALSE(restored("ld.global.v2.f32 {%f1, %f2}, [%rd1]; st.global.v2.f32 [%rd1], {%f1, %f3}; "
                        "st.global.f32 [%rd2], %f1;"));
}

TEST(RestoredLoads, ElementsThatAreStoredElsewhereAreRead) {
  EXPECT_FALSE(restored("ld.global.v2.f32 {%f1, %f2}, [%rd1]; st.global.v2.f32 [%rd2], {%f1, %f3};"));
  EXPECT_FALSE(restored("ld.global.v2.f32 {%f1, %f2}, [%rd1]; st.global.v2.f32 [%rd1+8], {%f1, %f3};"));
  EXPECT_FALSE(restored("ld.global.v2.f32 {%f1, %f2}, [%rd1]; st.global.v2.f32 [%rd1], {%f3, %f4};"));
}

} // namespace
