// Addresses and threads in the program's own terms.
#include "analysis/naming.hpp"

#include "scene.hpp"

#include <gtest/gtest.h>

namespace warpfold::analysis {
namespace {

TEST(Naming, ElementOfASharedArray) {
  Scene scene;
  EXPECT_EQ(shared_name(scene.code, 148, 4), "partial[37]");
  EXPECT_EQ(shared_name(scene.code, 149, 4), "byte 149 of partial");
  EXPECT_EQ(shared_name(scene.code, 4096, 4), "byte 4096 of shared memory");
}

TEST(Naming, WholeVariableHasNoIndex) {
  machine::Code code;
  code.shared_names = {{0, 4, "is_last"}};
  EXPECT_EQ(shared_name(code, 0, 4), "is_last");
  EXPECT_EQ(shared_name(code, 2, 1), "is_last[2]");
}

TEST(Naming, VariableThatIsCalledAsATypeIsMangled) {
  machine::Code code;
  code.shared_names = {{0, 4, "x"}, {4, 4, "i"}, {8, 16, "f"}, {24, 4, "_ZZ4treePKfE1x"}};
  EXPECT_EQ(shared_name(code, 0, 4), "x");
  EXPECT_EQ(shared_name(code, 4, 4), "i");
  EXPECT_EQ(shared_name(code, 12, 4), "f[1]");
  EXPECT_EQ(shared_name(code, 24, 4), "x");
}

TEST(Naming, DynamicMemoryHasNoEnd) {
  machine::Code code;
  code.shared_names = {{0, 16, "fixed"}, {16, 0, "dynamic"}};
  EXPECT_EQ(shared_name(code, 12, 4), "fixed[3]");
  EXPECT_EQ(shared_name(code, 1016, 4), "dynamic[250]");
}

TEST(Naming, ElementOfAnAllocation) {
  machine::AddressSpace memory(1 << 20);
  void* data = memory.allocate(4096, machine::MemoryKind::device, "input");
  auto begin = reinterpret_cast<std::uint64_t>(data);
  EXPECT_EQ(global_name(memory, begin + 148, 4), "element 37 of input");
  EXPECT_EQ(global_name(memory, begin + 149, 4), "byte 149 of input");
  memory.release(data);
  EXPECT_EQ(global_name(memory, begin, 4).substr(0, 2), "0x") << "what is freed has no name";
}

TEST(Naming, ElementsCountFromWhereTheNameWasGiven) {
  machine::AddressSpace memory(1 << 20);
  auto* data = static_cast<std::byte*>(memory.allocate(4096, machine::MemoryKind::device, ""));
  memory.name(data + 64, "input");
  auto begin = reinterpret_cast<std::uint64_t>(data);
  EXPECT_EQ(global_name(memory, begin + 64, 4), "element 0 of input (4032 bytes)");
  EXPECT_EQ(global_name(memory, begin + 60, 4), "4 bytes before input (4032 bytes)");
}

TEST(Naming, ThreadHasAsManyIndicesAsItsBlock) {
  Scene scene;
  EXPECT_EQ(machine::thread_name(scene.grid.shape, 1, 1, 5), "thread 37 of block 1");
  scene.shape.block = {8, 4, 2};
  scene.shape.grid = {4, 4, 1};
  EXPECT_EQ(machine::thread_name(scene.grid.shape, 13, 1, 5), "thread (5, 0, 1) of block (1, 3, 0)");
}

} // namespace
} // namespace warpfold::analysis
