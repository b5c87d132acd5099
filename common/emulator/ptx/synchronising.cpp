#include "ptx/synchronising.hpp"

#include "ptx/loops.hpp"
#include "ptx/registers.hpp"
#include "ptx/variables.hpp"

#include <algorithm>
#include <set>

namespace warpfold::ptx {
namespace {

bool is_atomic(const Instruction& instruction) {
  return instruction.opcode == "atom";
}

bool may_poll(const Instruction& instruction) {
  if (is_atomic(instruction)) return true;
  if (instruction.opcode != "ld") return false;
  return instruction.has("volatile") || instruction.has("mmio") || instruction.has("relaxed") ||
         instruction.has("acquire");
}

void find_ignored_values(const Function& function, std::vector<Synchronising>& found) {
  std::set<std::uint32_t> read;
  for (const Instruction& instruction : function.body)
    each_source(instruction, [&](std::uint32_t index) { read.insert(index); });
  for (const std::uint32_t index : function.result_registers) read.insert(index);
  for (std::size_t i = 0; i < function.body.size(); ++i) {
    if (!is_atomic(function.body[i])) continue;
    bool used = false;
    each_destination(function.body[i], [&](std::uint32_t written) { used |= read.contains(written); });
    found[i].ignores_value = !used;
  }
}

// A thread may look once before the loop in which it looks again: both loads then write to the same variable.
void find_first_looks(const Function& function, const Variables& variables,
                      std::vector<Synchronising>& found) {
  std::set<std::uint32_t> polled;
  for (std::size_t i = 0; i < function.body.size(); ++i)
    if (found[i].polls && !is_atomic(function.body[i]))
      each_destination(function.body[i],
                       [&](std::uint32_t written) { polled.insert(variables.of(written)); });
  for (std::size_t i = 0; i < function.body.size(); ++i)
    if (may_poll(function.body[i]) && !is_atomic(function.body[i]))
      each_destination(function.body[i], [&](std::uint32_t written) {
        found[i].polls |= polled.contains(variables.of(written));
      });
}

// Where a load or an atomic accesses memory.
const AddressOperand* address_of(const Instruction& instruction) {
  return instruction.operands.size() < 2 ? nullptr
                                         : std::get_if<AddressOperand>(&instruction.operands[1].value);
}

// The first try may stand before the loop: what it finds is what the loop compares first.
void find_first_tries(const Function& function, const Variables& variables,
                      std::vector<std::uint32_t>& updates) {
  const std::size_t in_loops = updates.size();
  for (std::size_t each = 0; each < in_loops; ++each) {
    const Instruction& again = function.body[updates[each]];
    const auto* compared = std::get_if<RegisterOperand>(&again.operands[2].value);
    if (!compared || !address_of(again)) continue;
    for (std::uint32_t i = 0; i < function.body.size(); ++i) {
      const Instruction& first = function.body[i];
      if (!is_atomic(first) || !first.has("cas") || !address_of(first)) continue;
      if (!variables.is_same_place(*address_of(first), *address_of(again))) continue;
      if (std::ranges::find(updates, i) != updates.end()) continue;
      bool is_compared = false;
      each_destination(first, [&](std::uint32_t written) {
        is_compared |= variables.of(written) == variables.of(compared->index);
      });
      if (is_compared) updates.push_back(i);
    }
  }
}

// An update by compare and swap begins with a plain load of the place. The value that it finds is compared
// with the current one, and the loop repeats until the two are equal.
void find_guesses(const Function& function, const Variables& variables,
                  const std::vector<std::uint32_t>& updates, std::vector<Synchronising>& found) {
  for (const std::uint32_t update : updates) {
    const Instruction& cas = function.body[update];
    const auto* compared = std::get_if<RegisterOperand>(&cas.operands[2].value);
    if (!compared || !address_of(cas)) continue;
    for (std::size_t i = 0; i < function.body.size(); ++i) {
      const Instruction& load = function.body[i];
      if (load.opcode != "ld" || !address_of(load)) continue;
      if (!variables.is_same_place(*address_of(load), *address_of(cas))) continue;
      each_destination(load, [&](std::uint32_t written) {
        found[i].guesses |= variables.of(written) == variables.of(compared->index);
      });
    }
  }
}

} // namespace

std::vector<Synchronising> synchronising(const Function& function, std::span<const BasicBlock> blocks) {
  std::vector<Synchronising> found(function.body.size());
  if (std::none_of(function.body.begin(), function.body.end(), may_poll)) return found;
  find_ignored_values(function, found);
  const Dominators dominators(blocks);
  const Variables variables(function);
  std::vector<std::uint32_t> updates;
  for (std::uint32_t tail = 0; tail < blocks.size(); ++tail)
    for (const std::uint32_t head : blocks[tail].successors) {
      if (!dominators.dominates(head, tail)) continue;
      const Loop loop(function, blocks, head, tail);
      loop.each_instruction([&](std::uint32_t, std::uint32_t i) {
        const Instruction& instruction = function.body[i];
        const auto& operands = instruction.operands;
        if (instruction.has("cas") && operands.size() > 3 && loop.ends_by(i)) updates.push_back(i);
        if (found[i].polls || !may_poll(instruction) || operands.size() < 2) return;
        if (found[i].ignores_value || !loop.keeps(operands[1]) || !loop.ends_by(i)) return;
        found[i].polls = true;
        // An exchange stores the same value in each iteration, unlike an update by cas.
        found[i].takes_lock = is_atomic(instruction) && (instruction.has("cas") || instruction.has("exch")) &&
                              std::all_of(operands.begin() + 2, operands.end(),
                                          [&](const Operand& operand) { return loop.keeps(operand); });
      });
    }
  find_first_looks(function, variables, found);
  find_first_tries(function, variables, updates);
  find_guesses(function, variables, updates, found);
  return found;
}

} // namespace warpfold::ptx
