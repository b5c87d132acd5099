// Parses each cases/NAME.ptx and compares its dump with cases/NAME.txt, including errors.
#include "cases.hpp"
#include "dump.hpp"

#include <gtest/gtest.h>

#include <cctype>

namespace {

using namespace warpfold;

class Case : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Case, IsUnderstoodAsExpected) {
  const std::filesystem::path& input = GetParam();
  const std::filesystem::path expected = std::filesystem::path(input).replace_extension(".txt");
  EXPECT_EQ(inputs::read_file(expected), ptx::dump_or_error(inputs::read_file(input)));
}

std::string name_of(const ::testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.parent_path().filename().string() + "_" + info.param.stem().string();
  for (char& character : name) {
    if (std::isalnum(static_cast<unsigned char>(character)) == 0) character = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ptx, Case, ::testing::ValuesIn(inputs::cases(".ptx")), name_of);

TEST(Parse, KeepsNamesAliveInAModuleThatIsMoved) {
  ptx::Module outer;
  {
    std::string text = ".version 8.0\n.target sm_75\n.visible .entry k() { add .u32 %r0, %r0, 1; }";
    text.insert(text.find("add"), ".reg .b32 %r<1>; ");
    ptx::Module inner = ptx::parse(text);
    std::fill(text.begin(), text.end(), '?');
    outer = std::move(inner);
  }
  ASSERT_EQ(outer.functions.size(), 1u);
  ASSERT_EQ(outer.functions[0].body.size(), 2u);
  EXPECT_EQ(outer.functions[0].body[0].name(), "add.u32");
  EXPECT_EQ(outer.functions[0].body[1].name(), "ret");
}

TEST(Parse, SharesOneListOfModifiersAmongEqualNames) {
  const ptx::Module module = ptx::parse(".version 8.0\n.target sm_75\n.entry k() { .reg .b32 a; add.u32 a, "
                                        "a, 1; sub.u32 a, a, 1; add.u32 a, a, 2; }");
  const auto& body = module.functions.at(0).body;
  EXPECT_EQ(body[0].modifiers.data(), body[2].modifiers.data());
  EXPECT_TRUE(body[0].has("u32"));
  EXPECT_FALSE(body[0].has("u3"));
}

TEST(Types, AreNamedAsTheTextNamesThem) {
  for (int index = 1; index <= static_cast<int>(ptx::Type::f64); ++index) {
    const auto type = static_cast<ptx::Type>(index);
    EXPECT_EQ(ptx::type_from(ptx::name_of(type)), type);
  }
  EXPECT_EQ(ptx::type_from("none"), ptx::Type::none);
  EXPECT_EQ(ptx::type_from("e4m3"), ptx::Type::none);
  EXPECT_EQ(ptx::size_of(ptx::Type::bf16x2), 4u);
  EXPECT_EQ(ptx::size_of(ptx::Type::b128), 16u);
  EXPECT_EQ(ptx::size_of(ptx::Type::pred), 0u);
}

} // namespace
