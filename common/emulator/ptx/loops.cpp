#include "ptx/loops.hpp"

#include "ptx/registers.hpp"

#include <algorithm>
#include <utility>

namespace warpfold::ptx {

Dominators::Dominators(std::span<const BasicBlock> blocks)
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

bool Dominators::dominates(std::uint32_t above, std::uint32_t block) const {
  if (parent_[block] == BasicBlock::none) return false;
  while (block != above && block != 0) block = parent_[block];
  return block == above;
}

std::vector<std::uint32_t> Dominators::post_order(std::span<const BasicBlock> blocks) {
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

std::uint32_t Dominators::common(std::uint32_t a, std::uint32_t b) const {
  while (a != b) {
    while (rank_[a] < rank_[b]) a = parent_[a];
    while (rank_[b] < rank_[a]) b = parent_[b];
  }
  return a;
}

bool is_in_loop(std::span<const BasicBlock> blocks, std::uint32_t block) {
  std::vector<bool> reached(blocks.size());
  std::vector<std::uint32_t> ends{block};
  while (!ends.empty()) {
    const std::uint32_t end = ends.back();
    ends.pop_back();
    for (const std::uint32_t next : blocks[end].successors) {
      if (next == block) return true;
      if (!reached[next]) ends.push_back(next);
      reached[next] = true;
    }
  }
  return false;
}

Loop::Loop(const Function& function, std::span<const BasicBlock> blocks, std::uint32_t head,
           std::uint32_t tail)
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

bool Loop::keeps(const Operand& operand) const {
  bool same = true;
  each_register(operand, [&](std::uint32_t index) { same = same && is_invariant(index, 16); });
  return same;
}

bool Loop::ends_by(std::uint32_t instruction) const {
  std::set<std::uint32_t> depends; // registers
  std::set<StackPlace> stack;
  std::vector<bool> decided(blocks_.size()); // blocks whose execution depends on the value
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

bool Loop::is_invariant(std::uint32_t index, int depth) const {
  const auto found = definitions_.find(index);
  if (found == definitions_.end()) return true;
  if (found->second.size() != 1 || depth == 0) return false;
  const Instruction& only = function_.body[found->second.front()];
  StackPlace place;
  if (stack_place(function_, only, place)) return !stored_.contains(place);
  if (only.opcode == "atom" || only.opcode == "call" || (only.opcode == "ld" && !only.has("param")))
    return false;
  bool same = true;
  each_source(
      only, [&](std::uint32_t source) { same = same && source != index && is_invariant(source, depth - 1); });
  return same;
}

bool Loop::leaves(std::uint32_t block) const {
  const auto& next = blocks_[block].successors;
  return next.empty() ||
         std::any_of(next.begin(), next.end(), [&](std::uint32_t to) { return !inside_[to]; });
}

bool Loop::branches_by(std::uint32_t block, const std::set<std::uint32_t>& registers) const {
  if (blocks_[block].begin == blocks_[block].end) return false;
  bool found = false;
  each_source(function_.body[blocks_[block].end - 1],
              [&](std::uint32_t index) { found |= registers.contains(index); });
  return found && (blocks_[block].successors.size() > 1 || leaves(block));
}

void Loop::follow(std::uint32_t block, std::uint32_t index, std::set<std::uint32_t>& depends,
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

} // namespace warpfold::ptx
