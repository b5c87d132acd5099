#include "ptx/printed_loads.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

// Which loads of a kernel with these instructions are for a printf alone, one after another: "yes " or "no ".
std::string printed(std::string_view body, bool prints = true) {
  const std::string text = std::string(R"(.version 8.0
.target sm_75
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
.visible .entry k(.param .u64 p) {
  .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>; .reg .b64 %rd<9>;
)") + std::string(body) +
                           (prints ? R"(
  { .param .b64 a; st.param.b64 [a], %rd7; .param .b64 b; st.param.b64 [b], %rd8; .param .b32 c;
    call.uni (c), vprintf, (a, b); }
)"
                                   : "") +
                           "  ret;\n}\n";
  const auto module = warpfold::ptx::parse(text);
  const auto& function = module.functions.back();
  const auto found = warpfold::ptx::printed_loads(module, function);
  std::string told;
  for (std::size_t i = 0; i < function.body.size(); ++i)
    if (function.body[i].opcode == "ld") told += found[i] ? "yes " : "no ";
  return told;
}

TEST(PrintedLoads, AValueThatOnlyBecomesAnArgumentIsPrinted) {
  EXPECT_EQ(printed("ld.global.f32 %f1, [%rd1]; cvt.f64.f32 %fd1, %f1; st.local.f64 [%rd2], %fd1;"), "yes ");
  EXPECT_EQ(printed("ld.global.u32 %r1, [%rd1]; st.local.v2.u32 [%rd2], {%r1, %r2};"), "yes ");
}

TEST(PrintedLoads, AValueWithAnotherUseIsNotPrintedOnly) {
  EXPECT_EQ(printed("ld.global.f32 %f1, [%rd1]; cvt.f64.f32 %fd1, %f1; st.local.f64 [%rd2], %fd1; "
                    "st.global.f32 [%rd3], %f1;"),
            "no ");
  EXPECT_EQ(printed("ld.global.f32 %f1, [%rd1]; cvt.f64.f32 %fd1, %f1; st.local.f64 [%rd2], %fd1; "
                    "add.f64 %fd2, %fd1, %fd1;"),
            "no ");
  EXPECT_EQ(printed("ld.global.u64 %rd2, [%rd1]; st.local.u32 [%rd2], %r1;"), "no "); // an address
}

TEST(PrintedLoads, WithoutPrintfLocalMemoryIsLikeAnyOther) {
  EXPECT_EQ(printed("ld.global.u32 %r1, [%rd1]; st.local.u32 [%rd2], %r1;", false), "no ");
}

} // namespace
