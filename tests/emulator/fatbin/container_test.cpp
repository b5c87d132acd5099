// Reads each cases/NAME.fatbin and compares what is found in it with cases/NAME.txt, including errors.
#include "../ptx/cases.hpp"
#include "dump.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

namespace {

using namespace warpfold;

class Case : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Case, IsUnderstoodAsExpected) {
  const std::filesystem::path& input = GetParam();
  const std::filesystem::path expected = std::filesystem::path(input).replace_extension(".txt");
  EXPECT_EQ(inputs::read_file(expected), fatbin::dump_or_error(inputs::read_file(input)));
}

std::string name_of(const ::testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.parent_path().filename().string() + "_" + info.param.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char character) { return std::isalnum(character) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Fatbin, Case, ::testing::ValuesIn(inputs::cases(".fatbin")), name_of);

TEST(Compression, EveryModeHoldsTheSameText) {
  const std::string plain = inputs::read_file(std::filesystem::path(CASES_FOLDER) / "mode_none.fatbin");
  const std::string text = fatbin::images_in(plain).at(0).ptx;
  EXPECT_TRUE(text.ends_with("}\n\n"));
  for (const char* mode : {"default", "size", "speed", "balance"}) {
    const std::string file =
        inputs::read_file(std::filesystem::path(CASES_FOLDER) / ("mode_" + std::string(mode) + ".fatbin"));
    EXPECT_EQ(fatbin::images_in(file).at(0).ptx, text) << mode;
  }
}

fatbin::Image image(fatbin::Kind kind, int architecture, char suffix = '\0') {
  fatbin::Image made;
  made.kind = kind;
  made.architecture = architecture;
  made.suffix = suffix;
  if (kind == fatbin::Kind::ptx) made.ptx = "...";
  return made;
}

std::string chosen(std::vector<fatbin::Image> images) {
  try {
    return fatbin::choose(images).target();
  } catch (const fatbin::FormatError& error) {
    return error.what();
  }
}

TEST(Choose, TakesTheHighestThatTheEmulatorKnows) {
  using enum fatbin::Kind;
  EXPECT_EQ(chosen({image(ptx, 75), image(ptx, 90), image(ptx, 80), image(machine_code, 120)}), "compute_90");
  EXPECT_EQ(chosen({image(ptx, 90, 'a'), image(ptx, 90), image(ptx, 90, 'f')}), "compute_90");
  EXPECT_EQ(chosen({image(ptx, 90, 'a'), image(ptx, 90, 'f')}), "compute_90f");
  EXPECT_EQ(chosen({image(ptx, 90), image(ptx, 121), image(ptx, 200)}), "compute_121");
}

TEST(Choose, SaysWhatIsThereWhereThereIsNoPtx) {
  using enum fatbin::Kind;
  const std::string message = chosen({image(machine_code, 90, 'a'), image(machine_code, 75)});
  EXPECT_NE(message.find("only sm_90a, sm_75"), std::string::npos) << message;
  EXPECT_NE(message.find("-gencode arch=compute_75,code=compute_75"), std::string::npos) << message;
  EXPECT_NE(chosen({}).find("no device code"), std::string::npos);
  EXPECT_NE(chosen({image(ptx, 200)}).find("only compute_200"), std::string::npos);
}

} // namespace
