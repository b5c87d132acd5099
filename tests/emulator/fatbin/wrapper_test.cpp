// What a program passes to the runtime: the wrapper in versions 1 and 2, and memory that is not one.
#include "../ptx/cases.hpp"
#include "dump.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace {

using namespace warpfold;

struct Wrapper {
  std::uint32_t magic = 0x466243b1;
  std::uint32_t version = 1;
  const void* data = nullptr;
  const void* prelinked = nullptr;
};

std::string case_file(const std::string& name) {
  return inputs::read_file(std::filesystem::path(CASES_FOLDER) / (name + ".fatbin"));
}

std::string message_of(const Wrapper& wrapper) {
  try {
    fatbin::read_wrapper(&wrapper);
  } catch (const fatbin::FormatError& error) {
    return error.what();
  }
  return "read without complaint";
}

TEST(Wrapper, OfAWholeProgramHasOneListOfImages) {
  const std::string file = case_file("several_architectures");
  Wrapper wrapper;
  wrapper.data = file.data();
  const auto objects = fatbin::read_wrapper(&wrapper);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(fatbin::list(objects[0]), fatbin::list(fatbin::images_in(file)));
  EXPECT_EQ(objects[0].size(), 4u);
}

TEST(Wrapper, OfASeparatelyCompiledProgramHasOneForEachObject) {
  const std::string linked("\x50\xed\x55\xba\x01\0\x10\0\0\0\0\0\0\0\0\0",
                           16); // nvcc's, if no machine code is made
  const std::string first = case_file("separate_compilation"), second = case_file("mode_speed");
  const std::array<const void*, 3> prelinked{first.data(), second.data(), nullptr};
  Wrapper wrapper;
  wrapper.version = 2;
  wrapper.data = linked.data();
  wrapper.prelinked = prelinked.data();
  const auto objects = fatbin::read_wrapper(&wrapper);
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].at(0).compression, fatbin::Compression::zstd);
  EXPECT_EQ(objects[1].at(0).compression, fatbin::Compression::lz4);
}

TEST(Wrapper, ThatIsNoneIsRefused) {
  EXPECT_THROW(fatbin::read_wrapper(nullptr), fatbin::FormatError);
  Wrapper wrapper;
  EXPECT_NE(message_of(wrapper).find("without a fat binary"), std::string::npos);
  wrapper.version = 3;
  EXPECT_NE(message_of(wrapper).find("version 3"), std::string::npos);
  wrapper.version = 2;
  EXPECT_NE(message_of(wrapper).find("-rdc=true"), std::string::npos);
  wrapper.magic = 0xdeadbeef;
  EXPECT_NE(message_of(wrapper).find("0xdeadbeef"), std::string::npos);
  const std::string text = "what a program might hold instead";
  Wrapper other;
  other.data = text.data();
  EXPECT_NE(message_of(other).find("not a fat binary"), std::string::npos);
}

// A damaged size in a program must not make the reader leave the program's memory.
TEST(Wrapper, LongerThanTheProgramIsRefused) {
  alignas(8) static std::array<unsigned char, 16> header{0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0,
                                                         0,    0,    0,    0x40, 0, 0, 0,  0};
  Wrapper wrapper;
  wrapper.data = header.data();
  EXPECT_NE(message_of(wrapper).find("longer than what the program holds"), std::string::npos)
      << message_of(wrapper);
}

} // namespace
