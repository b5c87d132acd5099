#include "ptx/chosen_loads.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

// By which predicate each load of a kernel with these instructions is needed, one after another: "p1 ", "!p1
// ", or "- " for one that always is.
std::string choosers(std::string_view body) {
  const std::string text = std::string(R"(.version 8.0
.target sm_75
.visible .entry k(.param .u64 p) {
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
)") + std::string(body) + "  ret;\n}\n";
  const auto module = warpfold::ptx::parse(text);
  const auto& function = module.functions.at(0);
  const auto found = warpfold::ptx::choosers(function, warpfold::ptx::basic_blocks(function));
  std::string told;
  for (std::size_t i = 0; i < function.body.size(); ++i) {
    if (function.body[i].opcode != "ld") continue;
    if (found[i].predicate < 0) {
      told += "- ";
      continue;
    }
    const auto& name = function.registers[static_cast<std::size_t>(found[i].predicate)].name;
    told += (found[i].negated ? "!" : "") + std::string(name).substr(1) + " ";
  }
  return told;
}

TEST(ChosenLoads, AValueThatIsOnlySelectedIsNeededWhereItIsChosen) {
  EXPECT_EQ(choosers("ld.local.u32 %r1, [%rd1]; selp.b32 %r2, %r1, 7, %p1;"), "p1 ");
  EXPECT_EQ(choosers("ld.local.u32 %r1, [%rd1]; add.s32 %r3, %r4, 1; selp.b32 %r2, %r3, %r1, %p1;"), "!p1 ");
}

TEST(ChosenLoads, AValueWithAnotherUseIsAlwaysNeeded) {
  EXPECT_EQ(choosers("ld.local.u32 %r1, [%rd1]; selp.b32 %r2, %r1, 7, %p1; add.s32 %r3, %r1, 1;"), "- ");
  EXPECT_EQ(choosers("ld.local.u32 %r1, [%rd1]; add.s32 %r3, %r1, 1;"), "- ");
  EXPECT_EQ(choosers("ld.local.u32 %r1, [%rd1]; selp.b32 %r2, %r1, %r1, %p1;"), "- ");
}

TEST(ChosenLoads, APredicateThatIsSetAfterTheLoadIsNotKnownThere) {
  EXPECT_EQ(choosers("ld.local.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r3, 0; selp.b32 %r2, %r1, 7, %p1;"), "- ");
  EXPECT_EQ(choosers("setp.eq.u32 %p1, %r3, 0; ld.local.u32 %r1, [%rd1]; selp.b32 %r2, %r1, 7, %p1;"), "p1 ");
}

TEST(ChosenLoads, ASelectionElsewhereDoesNotCount) {
  EXPECT_EQ(choosers("ld.local.u32 %r1, [%rd1]; @%p2 bra L; mov.u32 %r2, 1; L: selp.b32 %r2, %r1, 7, %p1;"),
            "- ");
}

} // namespace
