// The loops of a function.
#pragma once

#include "ptx/control_flow.hpp"
#include "ptx/variables.hpp"

#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

namespace warpfold::ptx {

// Immediate dominators of the blocks that can be reached from the first (Cooper, Harvey, Kennedy: "A Simple,
// Fast Dominance Algorithm").
class Dominators {
public:
  explicit Dominators(std::span<const BasicBlock> blocks);
  bool dominates(std::uint32_t above, std::uint32_t block) const;

private:
  std::vector<std::uint32_t> parent_, rank_;
  std::vector<std::uint32_t> post_order(std::span<const BasicBlock> blocks);
  std::uint32_t common(std::uint32_t a, std::uint32_t b) const;
};

// Can the block be reached again from its own end?
bool is_in_loop(std::span<const BasicBlock> blocks, std::uint32_t block);

// A natural loop: the blocks from which its head is reached again without leaving it.
class Loop {
public:
  Loop(const Function& function, std::span<const BasicBlock> blocks, std::uint32_t head, std::uint32_t tail);
  // visit(block, instruction)
  template <typename Visit>
  void each_instruction(Visit visit) const {
    for (std::uint32_t block = 0; block < blocks_.size(); ++block)
      for (std::uint32_t i = blocks_[block].begin; inside_[block] && i < blocks_[block].end; ++i)
        visit(block, i);
  }
  // Is the operand the same in each round?
  bool keeps(const Operand& operand) const;
  // Does the value that the instruction loads decide whether there is another round?
  bool ends_by(std::uint32_t instruction) const;

private:
  const Function& function_;
  std::span<const BasicBlock> blocks_;
  std::vector<bool> inside_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> definitions_; // in the loop, by register
  std::set<StackPlace> stored_;                                               // in the loop

  bool is_invariant(std::uint32_t index, int depth) const;
  bool leaves(std::uint32_t block) const;
  bool branches_by(std::uint32_t block, const std::set<std::uint32_t>& registers) const;
  void follow(std::uint32_t block, std::uint32_t index, std::set<std::uint32_t>& depends,
              std::set<StackPlace>& stack, std::vector<bool>& decided) const;
};

} // namespace warpfold::ptx
