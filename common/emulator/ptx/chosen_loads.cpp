#include "ptx/chosen_loads.hpp"

#include "ptx/registers.hpp"

#include <algorithm>
#include <variant>

namespace warpfold::ptx {
namespace {

std::int64_t register_in(const Operand& operand) {
  const auto* one = std::get_if<RegisterOperand>(&operand.value);
  return one ? static_cast<std::int64_t>(one->index) : -1;
}

bool writes(const Instruction& instruction, std::int64_t index) {
  bool found = false;
  each_destination(instruction, [&](std::uint32_t written) { found |= written == index; });
  return found;
}

// By register: how many instructions read it.
std::vector<std::uint32_t> readers(const Function& function) {
  std::vector<std::uint32_t> count(function.registers.size());
  for (const Instruction& instruction : function.body)
    each_source(instruction, [&](std::uint32_t index) { ++count[index]; });
  for (const std::uint32_t index : function.result_registers) ++count[index];
  return count;
}

// The selp that takes what `load` brings, and before which nothing overwrites that: its place in the body.
// The block's end if there is none.
std::uint32_t selection_of(const Function& function, const BasicBlock& block, std::uint32_t load,
                           std::int64_t loaded) {
  for (std::uint32_t i = load + 1; i < block.end; ++i) {
    const Instruction& instruction = function.body[i];
    bool takes = false;
    each_source(instruction, [&](std::uint32_t index) { takes |= index == loaded; });
    if (takes)
      return instruction.opcode == "selp" && instruction.operands.size() == 4 &&
                     instruction.guard.predicate < 0
                 ? i
                 : block.end;
    if (writes(instruction, loaded)) break;
  }
  return block.end;
}

Chooser chooser_of(const Function& function, const BasicBlock& block, std::uint32_t load,
                   std::int64_t loaded) {
  const std::uint32_t at = selection_of(function, block, load, loaded);
  if (at == block.end) return {};
  const auto& operands = function.body[at].operands;
  const bool is_first = register_in(operands[1]) == loaded, is_second = register_in(operands[2]) == loaded;
  const auto* chooser = std::get_if<RegisterOperand>(&operands[3].value);
  if (is_first == is_second || !chooser) return {};
  for (std::uint32_t i = load; i < at; ++i)
    if (writes(function.body[i], chooser->index)) return {};
  return {static_cast<std::int32_t>(chooser->index), is_second != chooser->negated};
}

} // namespace

std::vector<Chooser> choosers(const Function& function, std::span<const BasicBlock> blocks) {
  std::vector<Chooser> found(function.body.size());
  const auto is_load = [](const Instruction& each) { return each.opcode == "ld" && !each.operands.empty(); };
  if (std::ranges::none_of(function.body, is_load)) return found;
  const std::vector<std::uint32_t> reads = readers(function);
  for (const BasicBlock& block : blocks)
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      if (!is_load(function.body[i])) continue;
      const std::int64_t loaded = register_in(function.body[i].operands[0]);
      if (loaded >= 0 && reads[static_cast<std::size_t>(loaded)] == 1)
        found[i] = chooser_of(function, block, i, loaded);
    }
  return found;
}

} // namespace warpfold::ptx
