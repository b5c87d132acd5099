#include "ptx/unset_registers.hpp"

#include "ptx/registers.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <variant>

namespace warpfold::ptx {
namespace {

void add_registers(const Operand& operand, std::vector<std::uint32_t>& to) {
  if (const auto* one = std::get_if<RegisterOperand>(&operand.value)) {
    to.push_back(one->index);
  } else if (const auto* vector = std::get_if<VectorOperand>(&operand.value)) {
    for (const Operand& element : vector->elements) add_registers(element, to);
  } else if (const auto* pair = std::get_if<PairOperand>(&operand.value)) {
    if (!pair->first_is_sink) to.push_back(pair->first.index);
    if (!pair->second_is_sink) to.push_back(pair->second.index);
  }
}

void add_base(const Operand& operand, std::vector<std::uint32_t>& to) {
  if (const auto* address = std::get_if<AddressOperand>(&operand.value)) {
    if (const auto* base = std::get_if<RegisterOperand>(&address->base)) to.push_back(base->index);
  } else if (const auto* vector = std::get_if<VectorOperand>(&operand.value)) {
    for (const Operand& element : vector->elements) add_base(element, to);
  }
}

// By register: whether it has been set on every path to this point.
using Set = std::vector<bool>;

} // namespace

RegisterUse registers_of(const Instruction& instruction) {
  RegisterUse use;
  if (instruction.guard.predicate >= 0)
    use.read.push_back(static_cast<std::uint32_t>(instruction.guard.predicate));
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    add_registers(instruction.operands[i], i < first_source(instruction) ? use.written : use.read);
    add_base(instruction.operands[i], use.read);
  }
  return use;
}

std::vector<std::uint32_t> unset_registers(const Function& function, std::span<const BasicBlock> blocks) {
  const std::size_t count = function.registers.size();
  std::vector<RegisterUse> uses;
  uses.reserve(function.body.size());
  for (const Instruction& instruction : function.body) uses.push_back(registers_of(instruction));

  std::vector<Set> before(blocks.size(), Set(count, true)); // all are set where nothing has arrived yet
  if (blocks.empty()) return {};
  before[0].assign(count, false);
  for (const std::uint32_t index : function.parameter_registers) before[0][index] = true;
  // A guarded instruction may leave its register unchanged.
  const auto apply = [&](Set& set, std::uint32_t i) {
    if (function.body[i].guard.predicate >= 0) return;
    for (const std::uint32_t index : uses[i].written) set[index] = true;
  };
  std::vector<bool> pending(blocks.size(), false), reached(blocks.size(), false);
  pending[0] = reached[0] = true;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (!pending[b]) continue;
      pending[b] = false, any = true;
      Set after = before[b];
      for (std::uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) apply(after, i);
      for (const std::uint32_t next : blocks[b].successors) {
        bool changed = !reached[next];
        reached[next] = true;
        for (std::size_t r = 0; r < count; ++r) {
          if (before[next][r] && !after[r]) before[next][r] = false, changed = true;
        }
        if (changed) pending[next] = true;
      }
    }
  }

  std::vector<std::uint32_t> found;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!reached[b]) continue;
    Set set = before[b];
    for (std::uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      for (const std::uint32_t index : uses[i].read) {
        if (!set[index]) found.push_back(index);
      }
      apply(set, i);
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Flow flow_of(const Instruction& instruction) {
  constexpr std::string_view fresh[] = {
      "ld",       "ldu",       "atom",     "call",       "vote", "match", "redux",    "elect", "mbarrier",
      "barrier",  "bar",       "cp",       "activemask", "tex",  "testp", "isspacep", "wmma",  "mma",
      "ldmatrix", "movmatrix", "stmatrix", "tld4",       "txq",  "suld",  "suq"};
  const std::string_view opcode = instruction.opcode;
  if (std::find(std::begin(fresh), std::end(fresh), opcode) != std::end(fresh)) return Flow::fresh;
  if (opcode == "shfl") return Flow::exchanged;
  if (opcode == "selp") return Flow::selected;
  if (opcode != "mov") return Flow::combined;
  const bool packs =
      instruction.operands.size() > 1 && std::holds_alternative<VectorOperand>(instruction.operands[1].value);
  return packs ? Flow::packed : Flow::copied;
}

std::vector<std::uint32_t> reached_from(const Function& function, const std::vector<std::uint32_t>& unset) {
  std::vector<bool> reached(function.registers.size());
  for (const std::uint32_t index : unset) reached[index] = true;
  for (bool any = !unset.empty(); any;) {
    any = false;
    for (const Instruction& instruction : function.body) {
      if (flow_of(instruction) == Flow::fresh) continue;
      const RegisterUse use = registers_of(instruction);
      if (std::ranges::none_of(use.read, [&](std::uint32_t index) { return reached[index]; })) continue;
      for (const std::uint32_t index : use.written)
        if (!reached[index]) reached[index] = any = true;
    }
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t index = 0; index < reached.size(); ++index)
    if (reached[index]) found.push_back(index);
  return found;
}

} // namespace warpfold::ptx
