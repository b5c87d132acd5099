#include "ptx/control_flow.hpp"

#include <algorithm>

namespace warpfold::ptx {
namespace {

bool is_branch(const Instruction& instruction) {
  return instruction.opcode == "bra" || instruction.opcode == "brx";
}

bool leaves(const Instruction& instruction) {
  return instruction.opcode == "ret" || instruction.opcode == "exit" || instruction.opcode == "trap";
}

bool ends_block(const Instruction& instruction) {
  return is_branch(instruction) || leaves(instruction) || instruction.opcode == "call";
}

template <typename Visit>
void for_each_target(const Instruction& instruction, Visit visit) {
  for (const Operand& operand : instruction.operands) {
    if (const auto* label = std::get_if<LabelOperand>(&operand.value)) visit(label->target);
    const auto* list = std::get_if<VectorOperand>(&operand.value);
    if (list == nullptr) continue;
    for (const Operand& element : list->elements) {
      if (const auto* label = std::get_if<LabelOperand>(&element.value)) visit(label->target);
    }
  }
}

std::vector<std::uint32_t> leaders(const std::vector<Instruction>& body) {
  std::vector<bool> begins(body.size() + 1, false);
  begins[0] = true;
  for (std::size_t index = 0; index < body.size(); ++index) {
    if (ends_block(body[index])) begins[index + 1] = true;
    if (is_branch(body[index])) {
      for_each_target(body[index], [&](std::uint32_t target) { begins[target] = true; });
    }
  }
  std::vector<std::uint32_t> list;
  for (std::size_t index = 0; index < body.size(); ++index) {
    if (begins[index]) list.push_back(static_cast<std::uint32_t>(index));
  }
  return list;
}

std::vector<std::uint32_t> successors(const std::vector<Instruction>& body,
                                      const std::vector<std::uint32_t>& block_of, std::uint32_t end) {
  std::vector<std::uint32_t> list;
  const auto add = [&](std::uint32_t instruction) {
    if (instruction < body.size()) list.push_back(block_of[instruction]);
  };
  const Instruction& last = body[end - 1];
  const bool guarded = last.guard.predicate >= 0;
  if (is_branch(last)) for_each_target(last, add);
  if ((!is_branch(last) && !leaves(last)) || guarded) add(end);
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

// Immediate post-dominators after Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on
// the reversed graph. One virtual exit follows each block that leaves the function; blocks that never reach
// it (endless loops) have no post-dominator.
class PostDominators {
public:
  PostDominators(std::vector<BasicBlock>& blocks, const std::vector<Instruction>& body)
      : blocks_(blocks), exit_(static_cast<std::uint32_t>(blocks.size())), predecessors_(blocks.size() + 1),
        order_(blocks.size() + 1, BasicBlock::none), dominator_(blocks.size() + 1, BasicBlock::none) {
    for (std::uint32_t block = 0; block < exit_; ++block) {
      for (const std::uint32_t next : blocks[block].successors) predecessors_[next].push_back(block);
    }
    connect_exit(body);
    number_in_postorder();
    iterate();
    for (std::uint32_t block = 0; block < exit_; ++block) {
      blocks[block].post_dominator = dominator_[block] == exit_ ? BasicBlock::none : dominator_[block];
    }
  }

private:
  bool exits(std::uint32_t block) const { return exits_[block]; }

  // A guarded return leaves and goes on: it is an edge to the exit beside the one to the next block.
  void connect_exit(const std::vector<Instruction>& body) {
    exits_.resize(exit_, false);
    for (std::uint32_t block = 0; block < exit_; ++block) {
      if (!blocks_[block].successors.empty() && !leaves(body[blocks_[block].end - 1])) continue;
      exits_[block] = true;
      predecessors_[exit_].push_back(block);
    }
  }

  // Depth first from the exit against the edges, without recursion: bodies have tens of thousands of blocks.
  void number_in_postorder() {
    std::vector<bool> seen(exit_ + 1, false);
    std::vector<std::pair<std::uint32_t, std::size_t>> stack{{exit_, 0}};
    seen[exit_] = true;
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      if (next < predecessors_[block].size()) {
        const std::uint32_t before = predecessors_[block][next++];
        if (!seen[before]) {
          seen[before] = true;
          stack.emplace_back(before, 0);
        }
      } else {
        order_[block] = static_cast<std::uint32_t>(postorder_.size());
        postorder_.push_back(block);
        stack.pop_back();
      }
    }
  }

  std::uint32_t meet(std::uint32_t left, std::uint32_t right) const {
    while (left != right) {
      while (order_[left] < order_[right]) left = dominator_[left];
      while (order_[right] < order_[left]) right = dominator_[right];
    }
    return left;
  }

  void iterate() {
    dominator_[exit_] = exit_;
    for (bool changed = true; changed;) {
      changed = false;
      for (auto each = postorder_.rbegin(); each != postorder_.rend(); ++each) {
        if (*each == exit_) continue;
        std::uint32_t merged = exits(*each) ? exit_ : BasicBlock::none;
        for (const std::uint32_t next : blocks_[*each].successors) {
          if (dominator_[next] == BasicBlock::none) continue; // not reached yet, or never
          merged = merged == BasicBlock::none ? next : meet(merged, next);
        }
        if (merged == dominator_[*each]) continue;
        dominator_[*each] = merged;
        changed = true;
      }
    }
  }

  std::vector<BasicBlock>& blocks_;
  std::uint32_t exit_;
  std::vector<std::vector<std::uint32_t>> predecessors_;
  std::vector<bool> exits_;
  std::vector<std::uint32_t> order_, dominator_, postorder_;
};

} // namespace

std::vector<BasicBlock> basic_blocks(const Function& function) {
  const std::vector<Instruction>& body = function.body;
  if (body.empty()) return {};
  const std::vector<std::uint32_t> begins = leaders(body);
  std::vector<std::uint32_t> block_of(body.size());
  std::vector<BasicBlock> blocks(begins.size());
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    blocks[block].begin = begins[block];
    blocks[block].end =
        block + 1 < blocks.size() ? begins[block + 1] : static_cast<std::uint32_t>(body.size());
    std::fill(block_of.begin() + blocks[block].begin, block_of.begin() + blocks[block].end, block);
  }
  for (BasicBlock& block : blocks) block.successors = successors(body, block_of, block.end);
  PostDominators{blocks, body};
  return blocks;
}

} // namespace warpfold::ptx
