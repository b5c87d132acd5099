#include "ptx/control_flow.hpp"

#include "ptx/post_dominators.hpp"

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
  find_post_dominators(blocks, body);
  return blocks;
}

} // namespace warpfold::ptx
