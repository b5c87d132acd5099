// OpenCL's printf, as three versions of Clang call it. That of the machine here is tested by
// tests/emulator/opencl.
#include "machine/address_space.hpp"
#include "machine/machine.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <span>
#include <string>

namespace warpfold::machine {
namespace {

std::string text_in_memory(const char* name, const std::string& text) {
  std::string bytes;
  for (const char letter : text) bytes += fmt::format("{}, ", static_cast<int>(letter));
  return fmt::format(".const .align 1 .b8 {}[{}] = {{{}0}};\n", name, text.size() + 1, bytes);
}

std::string program(const char* declared, const char* body) {
  return ".version 4.2\n.target sm_30\n.address_size 64\n.extern .func (.param .b32 result) printf(" +
         std::string(declared) + ");\n" +
         text_in_memory("form", "%d %5.2f %s %-2c %v4d %v2hlf %v3hhd %lu\n") +
         text_in_memory("word", "text") + ".visible .entry prints(.param .u64 unused)\n{\n" +
         ".reg .b64 %rd<4>;\n.param .b64 format;\n.param .b32 result;\nmov.u64 %rd1, form;\n"
         "mov.u64 %rd2, word;\nst.param.b64 [format], %rd1;\n" +
         body + "ret;\n}\n";
}

std::string printed(const std::string& ptx) {
  AddressSpace memory{1 << 20};
  Program program{ptx::parse(ptx), memory};
  const std::uint64_t unused = 0;
  LaunchOptions options;
  options.workers = 1;
  ::testing::internal::CaptureStdout();
  const auto result = launch(*program.kernel("prints"), {.grid = {1, 1, 1}, .block = {1, 1, 1}},
                             std::as_bytes(std::span(&unused, 1)), options);
  std::fflush(stdout);
  const std::string text = ::testing::internal::GetCapturedStdout();
  return result.fault ? result.fault->message : text;
}

constexpr const char* expected = "2  2.25 text x  1,-2,3,-4 0.500000,1.500000 -1,2,3 7\n";

TEST(Printing, EachArgumentIsAParameter) {
  EXPECT_EQ(printed(program(".param .b64 format", R"(
.param .b32 a; .param .b64 b; .param .b64 c; .param .b32 d; .param .align 16 .b8 e[16];
.param .align 8 .b8 f[8]; .param .align 4 .b8 g[4]; .param .b64 h;
st.param.b32 [a], 2;
st.param.f64 [b], 0d4002000000000000;
st.param.b64 [c], %rd2;
st.param.b32 [d], 120;
st.param.v4.b32 [e], {1, -2, 3, -4};
st.param.v2.f32 [f], {0f3F000000, 0f3FC00000};
st.param.b32 [g], 197375;
st.param.b64 [h], 7;
call.uni (result), printf, (format, a, b, c, d, e, f, g, h);
)")),
            expected);
}

TEST(Printing, TheArgumentsArePackedInOneParameter) {
  EXPECT_EQ(printed(program(".param .b64 format, .param .align 8 .b8 rest[]", R"(
.param .align 8 .b8 rest[60];
st.param.b32 [rest], 2;
st.param.f64 [rest+4], 0d4002000000000000;
st.param.b64 [rest+12], %rd2;
st.param.b32 [rest+20], 120;
st.param.b32 [rest+24], 1;
st.param.b32 [rest+28], -2;
st.param.b32 [rest+32], 3;
st.param.b32 [rest+36], -4;
st.param.f32 [rest+40], 0f3F000000;
st.param.f32 [rest+44], 0f3FC00000;
st.param.b32 [rest+48], 197375;
st.param.b64 [rest+52], 7;
call.uni (result), printf, (format, rest);
)")),
            expected);
}

TEST(Printing, TheArgumentsLieInMemory) {
  EXPECT_EQ(printed(program(".param .b64 format, .param .b64 list", R"(
.local .align 16 .b8 list_of[80];
.param .b64 list;
mov.u64 %rd3, list_of;
st.local.u32 [%rd3], 2;
st.local.f64 [%rd3+8], 0d4002000000000000;
st.local.u64 [%rd3+16], %rd2;
st.local.u32 [%rd3+24], 120;
st.local.v4.u32 [%rd3+32], {1, -2, 3, -4};
st.local.v2.f32 [%rd3+48], {0f3F000000, 0f3FC00000};
st.local.u32 [%rd3+56], 197375;
st.local.u64 [%rd3+64], 7;
cvta.local.u64 %rd3, %rd3;
st.param.b64 [list], %rd3;
call.uni (result), printf, (format, list);
)")),
            expected);
}

// Clang 18, with nothing to pack.
TEST(Printing, AFormatAloneHasNoOtherParameter) {
  EXPECT_EQ(printed(program(".param .b64 format, .param .align 8 .b8 rest[]", R"(
mov.u64 %rd1, word;
st.param.b64 [format], %rd1;
call.uni (result), printf, (format);
)")),
            "text");
}

} // namespace
} // namespace warpfold::machine
