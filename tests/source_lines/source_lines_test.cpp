// Where addresses of this program's own code lie in this file.
#include "source_lines.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <sstream>

namespace warpfold {
namespace {

// Each returns an address behind a call on the line that it is called from.
[[gnu::noinline]] const void* caller() {
  return __builtin_return_address(0);
}
std::uint32_t line_of_inlined = 0;
[[gnu::always_inline]] inline const void* caller_in_an_inlined_function() {
  line_of_inlined = __LINE__ + 1;
  const void* const address = caller();
  asm volatile(""); // no call in tail position
  return address;
}

std::vector<SourcePlace> places_of(const void* address) {
  Dl_info program{};
  if (!dladdr(address, &program)) return {};
  return source_places(std::filesystem::read_symlink("/proc/self/exe"),
                       {address_in_file(address, program.dli_fbase) - 1});
}

bool has_addr2line() {
  std::istringstream path(std::getenv("PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    if (std::filesystem::exists(folder + "/addr2line")) return true;
  return false;
}

TEST(SourceLines, OfACall) {
  if (!has_addr2line()) GTEST_SKIP() << "no addr2line";
  const std::uint32_t line = __LINE__ + 1;
  const std::vector<SourcePlace> found = places_of(caller());
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found[0].file.ends_with("source_lines_test.cpp")) << found[0].file;
  EXPECT_EQ(found[0].line, line);
  EXPECT_NE(found[0].function.find("OfACall"), std::string::npos) << found[0].function;
  EXPECT_FALSE(found[0].is_of_system());
}

TEST(SourceLines, TheInnermostInlinedFunctionComesFirst) {
  if (!has_addr2line()) GTEST_SKIP() << "no addr2line";
  const std::uint32_t line = __LINE__ + 1;
  const std::vector<SourcePlace> found = places_of(caller_in_an_inlined_function());
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[0].line, line_of_inlined);
  EXPECT_EQ(found[1].line, line);
}

TEST(SourceLines, OfNothing) {
  EXPECT_TRUE(source_places("/proc/self/exe", {}).empty());
  for (const SourcePlace& place : source_places("/nonexistent", {0x1234})) EXPECT_EQ(place.line, 0u);
}

TEST(SourceLines, PathsAreShortBelowTheCurrentFolder) {
  const std::string here = std::filesystem::current_path();
  EXPECT_EQ((SourcePlace{"", here + "/a/../b.cu", 12}.text()), "b.cu:12");
  EXPECT_EQ((SourcePlace{"", "/elsewhere/x/../b.cu", 3}.text()), "/elsewhere/b.cu:3");
  EXPECT_TRUE((SourcePlace{"", "/usr/include/c++/12/vector", 1}.is_of_system()));
  EXPECT_TRUE((SourcePlace{"", "??", 0}.is_of_system()));
  EXPECT_TRUE((SourcePlace{"", "/tmp/tmpxft_0000713c_00000000-6_tree.cudafe1.stub.c", 1}.is_of_system()));
  EXPECT_TRUE((SourcePlace{"", "/home/me/cuda/include/crt/host_runtime.h", 1}.is_of_system()));
  EXPECT_FALSE((SourcePlace{"", "/home/me/cuda_runtime/crt/tree.cu", 1}.is_of_system()));
  EXPECT_TRUE((SourcePlace{"_Z23__device_stub__Z3sumPKfPKf", "/tmp/a.cu", 1}.is_in_stub()));
  EXPECT_FALSE((SourcePlace{"_Z3sumPKf", "/tmp/a.cu", 1}.is_in_stub()));
}

} // namespace
} // namespace warpfold
