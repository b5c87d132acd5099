#include "ptx/restored_loads.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

// Whether the kernel's first load is one that is only stored again.
bool restored(std::string_view body) {
  const std::string text = std::string(R"(.version 8.0
.target sm_75
.visible .entry k(.param .u64 p) {
  .reg .f32 %f<9>; .reg .b64 %rd<9>;
)") + std::string(body) + "  ret;\n}\n";
  const auto module = warpfold::ptx::parse(text);
  const auto& function = module.functions.back();
  const auto found = warpfold::ptx::restored_loads(function);
  for (std::size_t i = 0; i < function.body.size(); ++i)
    if (function.body[i].opcode == "ld") return found[i];
  return false;
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
