#include "ptx/synchronising.hpp"

#include "ptx/registers.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

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

// Operands from this one on are read; those before it are written.
std::size_t first_source(const Instruction& instruction) {
  constexpr std::string_view without_destination[] = {"st",      "red",    "bra",   "brx", "bar",
                                                      "barrier", "membar", "fence", "ret", "exit"};
  const bool writes_none = std::find(std::begin(without_destination), std::end(without_destination),
                                     instruction.opcode) != std::end(without_destination);
  return writes_none || instruction.operands.empty() ? 0 : 1;
}

template <typename Visit>
void each_destination(const Instruction& instruction, Visit visit) {
  if (first_source(instruction) == 0) return;
  if (std::holds_alternative<AddressOperand>(instruction.operands[0].value)) return;
  each_register(instruction.operands[0], visit);
}

template <typename Visit>
void each_source(const Instruction& instruction, Visit visit) {
  if (instruction.guard.predicate >= 0) visit(static_cast<std::uint32_t>(instruction.guard.predicate));
  for (std::size_t i = first_source(instruction); i < instruction.operands.size(); ++i)
    each_register(instruction.operands[i], visit);
}

// In a debug build variables lie in local memory, and are addressed by this register or a copy of it.
bool is_stack_pointer(const Function& function, std::uint32_t index) {
  return function.registers[index].name.starts_with("%SP");
}

// The variable in local memory that the instruction loads or stores: base register and offset.
using StackPlace = std::pair<std::uint32_t, std::int64_t>;
const AddressOperand* stack_place(const Function& function, const Instruction& instruction,
                                  StackPlace& place) {
  if (instruction.opcode != "ld" && instruction.opcode != "st") return nullptr;
  if (instruction.operands.size() < 2) return nullptr;
  const auto* address =
      std::get_if<AddressOperand>(&instruction.operands[instruction.opcode == "st" ? 0 : 1].value);
  const auto* base = address ? std::get_if<RegisterOperand>(&address->base) : nullptr;
  if (base == nullptr || !is_stack_pointer(function, base->index)) return nullptr;
  place = {base->index, address->offset};
  return address;
}

// Immediate dominators of the blocks that can be reached from the first (Cooper, Harvey, Kennedy: "A Simple,
// Fast Dominance Algorithm").
class Dominators {
public:
  explicit Dominators(std::span<const BasicBlock> blocks)
      : parent_(blocks.size(), BasicBlock::none), rank_(blocks.size(), 0) {
    std::vector<std::vector<std::uint32_t>> predecessors(blocks.size());
    for (std::uint32_t block = 0; block < blocks.size(); ++block)
      for (const std::uint32_t next : blocks[block].successors) predecessors[next].push_back(block);
    const std::vector<std::uint32_t> order = post_order(blocks);
    parent_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = order.size(); i-- > 0;) {
        const std::uint32_t block = order[i];
        if (block == 0) continue;
        std::uint32_t meet = BasicBlock::none;
        for (const std::uint32_t before : predecessors[block])
          if (parent_[before] != BasicBlock::none)
            meet = meet == BasicBlock::none ? before : common(before, meet);
        if (parent_[block] != meet) parent_[block] = meet, changed = true;
      }
    }
  }
  bool dominates(std::uint32_t above, std::uint32_t block) const {
    if (parent_[block] == BasicBlock::none) return false;
    while (block != above && block != 0) block = parent_[block];
    return block == above;
  }

private:
  std::vector<std::uint32_t> parent_, rank_;

  std::vector<std::uint32_t> post_order(std::span<const BasicBlock> blocks) {
    std::vector<std::uint32_t> order;
    std::vector<bool> seen(blocks.size());
    std::vector<std::pair<std::uint32_t, std::size_t>> path{{0, 0}};
    seen[0] = true;
    while (!path.empty()) {
      auto& [block, next] = path.back();
      if (next == blocks[block].successors.size()) {
        rank_[block] = static_cast<std::uint32_t>(order.size());
        order.push_back(block);
        path.pop_back();
      } else if (const std::uint32_t child = blocks[block].successors[next++]; !seen[child]) {
        seen[child] = true;
        path.emplace_back(child, 0);
      }
    }
    return order;
  }
  std::uint32_t common(std::uint32_t a, std::uint32_t b) const {
    while (a != b) {
      while (rank_[a] < rank_[b]) a = parent_[a];
      while (rank_[b] < rank_[a]) b = parent_[b];
    }
    return a;
  }
};

// A natural loop: the blocks from which its head is reached again without leaving it.
class Loop {
public:
  Loop(const Function& function, std::span<const BasicBlock> blocks, std::uint32_t head, std::uint32_t tail)
      : function_(function), blocks_(blocks), inside_(blocks.size()) {
    std::vector<std::vector<std::uint32_t>> predecessors(blocks.size());
    for (std::uint32_t block = 0; block < blocks.size(); ++block)
      for (const std::uint32_t next : blocks[block].successors) predecessors[next].push_back(block);
    std::vector<std::uint32_t> open{tail};
    inside_[head] = true;
    while (!open.empty()) {
      const std::uint32_t block = open.back();
      open.pop_back();
      if (inside_[block]) continue;
      inside_[block] = true;
      open.insert(open.end(), predecessors[block].begin(), predecessors[block].end());
    }
    each_instruction([&](std::uint32_t, std::uint32_t index) {
      const Instruction& instruction = function_.body[index];
      each_destination(instruction, [&](std::uint32_t written) { definitions_[written].push_back(index); });
      StackPlace place;
      if (instruction.opcode == "st" && stack_place(function_, instruction, place)) stored_.insert(place);
    });
  }

  template <typename Visit>
  void each_instruction(Visit visit) const {
    for (std::uint32_t block = 0; block < blocks_.size(); ++block)
      for (std::uint32_t i = blocks_[block].begin; inside_[block] && i < blocks_[block].end; ++i)
        visit(block, i);
  }

  // Is the operand the same in each round?
  bool keeps(const Operand& operand) const {
    bool same = true;
    each_register(operand, [&](std::uint32_t index) { same = same && is_invariant(index, 16); });
    return same;
  }

  // Does the value that the instruction loads decide whether there is another round?
  bool ends_by(std::uint32_t instruction) const {
    std::set<std::uint32_t> depends; // registers
    std::set<StackPlace> stack;
    std::vector<bool> decided(blocks_.size()); // blocks that run or not, as the value says
    each_destination(function_.body[instruction], [&](std::uint32_t index) { depends.insert(index); });
    for (std::size_t before = 0, now = 1; before != now;) {
      before = now;
      each_instruction(
          [&](std::uint32_t block, std::uint32_t i) { follow(block, i, depends, stack, decided); });
      now = 1 + depends.size() + stack.size() +
            static_cast<std::size_t>(std::count(decided.begin(), decided.end(), true));
    }
    for (std::uint32_t block = 0; block < blocks_.size(); ++block)
      if (inside_[block] && leaves(block) && (decided[block] || branches_by(block, depends))) return true;
    return false;
  }

private:
  const Function& function_;
  std::span<const BasicBlock> blocks_;
  std::vector<bool> inside_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> definitions_; // in the loop, by register
  std::set<StackPlace> stored_;                                               // in the loop

  bool is_invariant(std::uint32_t index, int depth) const {
    const auto found = definitions_.find(index);
    if (found == definitions_.end()) return true;
    if (found->second.size() != 1 || depth == 0) return false;
    const Instruction& only = function_.body[found->second.front()];
    StackPlace place;
    if (stack_place(function_, only, place)) return !stored_.contains(place);
    if (only.opcode == "atom" || only.opcode == "call" || (only.opcode == "ld" && !only.has("param")))
      return false;
    bool same = true;
    each_source(only, [&](std::uint32_t source) {
      same = same && source != index && is_invariant(source, depth - 1);
    });
    return same;
  }

  bool leaves(std::uint32_t block) const {
    const auto& next = blocks_[block].successors;
    return next.empty() ||
           std::any_of(next.begin(), next.end(), [&](std::uint32_t to) { return !inside_[to]; });
  }

  bool branches_by(std::uint32_t block, const std::set<std::uint32_t>& registers) const {
    if (blocks_[block].begin == blocks_[block].end) return false;
    bool found = false;
    each_source(function_.body[blocks_[block].end - 1],
                [&](std::uint32_t index) { found |= registers.contains(index); });
    return found && (blocks_[block].successors.size() > 1 || leaves(block));
  }

  void follow(std::uint32_t block, std::uint32_t index, std::set<std::uint32_t>& depends,
              std::set<StackPlace>& stack, std::vector<bool>& decided) const {
    const Instruction& instruction = function_.body[index];
    bool touched = decided[block];
    each_source(instruction, [&](std::uint32_t source) { touched |= depends.contains(source); });
    StackPlace place;
    if (stack_place(function_, instruction, place)) {
      if (instruction.opcode == "st" && touched) stack.insert(place);
      touched |= stack.contains(place);
    }
    if (touched) each_destination(instruction, [&](std::uint32_t written) { depends.insert(written); });
    if (index + 1 != blocks_[block].end || !branches_by(block, depends)) return;
    std::vector<std::uint32_t> open = blocks_[block].successors;
    while (!open.empty()) {
      const std::uint32_t next = open.back();
      open.pop_back();
      if (!inside_[next] || decided[next] || next == blocks_[block].post_dominator || next == block) continue;
      decided[next] = true;
      open.insert(open.end(), blocks_[next].successors.begin(), blocks_[next].successors.end());
    }
  }
};

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

// A thread may look once before the loop in which it looks again: what the two loads find goes into one
// variable, which the compiler makes one register, or several with copies between them.
void find_first_looks(const Function& function, std::vector<Synchronising>& found) {
  std::vector<std::uint32_t> same(function.registers.size()); // as this one, by copies
  std::iota(same.begin(), same.end(), 0);
  const auto root = [&](std::uint32_t index) {
    while (same[index] != index) index = same[index];
    return index;
  };
  for (const Instruction& instruction : function.body) {
    if (instruction.opcode != "mov" || instruction.operands.size() != 2) continue;
    const auto* to = std::get_if<RegisterOperand>(&instruction.operands[0].value);
    const auto* from = std::get_if<RegisterOperand>(&instruction.operands[1].value);
    if (to && from) same[root(to->index)] = root(from->index);
  }
  std::set<std::uint32_t> polled;
  for (std::size_t i = 0; i < function.body.size(); ++i)
    if (found[i].polls && !is_atomic(function.body[i]))
      each_destination(function.body[i], [&](std::uint32_t written) { polled.insert(root(written)); });
  for (std::size_t i = 0; i < function.body.size(); ++i)
    if (may_poll(function.body[i]) && !is_atomic(function.body[i]))
      each_destination(function.body[i],
                       [&](std::uint32_t written) { found[i].polls |= polled.contains(root(written)); });
}

} // namespace

std::vector<Synchronising> synchronising(const Function& function, std::span<const BasicBlock> blocks) {
  std::vector<Synchronising> found(function.body.size());
  if (std::none_of(function.body.begin(), function.body.end(), may_poll)) return found;
  find_ignored_values(function, found);
  const Dominators dominators(blocks);
  for (std::uint32_t tail = 0; tail < blocks.size(); ++tail)
    for (const std::uint32_t head : blocks[tail].successors) {
      if (!dominators.dominates(head, tail)) continue;
      const Loop loop(function, blocks, head, tail);
      loop.each_instruction([&](std::uint32_t, std::uint32_t i) {
        const Instruction& instruction = function.body[i];
        if (found[i].polls || !may_poll(instruction) || instruction.operands.size() < 2) return;
        const auto& operands = instruction.operands;
        if (found[i].ignores_value || !loop.keeps(operands[1]) || !loop.ends_by(i)) return;
        found[i].polls = true;
        // What an exchange puts in is the same each time, unlike that of an update by cas.
        found[i].takes_lock = is_atomic(instruction) && (instruction.has("cas") || instruction.has("exch")) &&
                              std::all_of(operands.begin() + 2, operands.end(),
                                          [&](const Operand& operand) { return loop.keeps(operand); });
      });
    }
  find_first_looks(function, found);
  return found;
}

} // namespace warpfold::ptx
