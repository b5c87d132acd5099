#include "ptx/load_waits.hpp"

#include "ptx/registers.hpp"

#include <algorithm>
#include <unordered_map>

namespace warpfold::ptx {
namespace {

bool is_global_load(const Instruction& instruction) {
  if (instruction.opcode != "ld" && instruction.opcode != "ldu") return false;
  return !instruction.has("shared") && !instruction.has("local") && !instruction.has("param") &&
         !instruction.has("const");
}

bool orders_memory(const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  if (opcode == "st")
    return !instruction.has("shared") && !instruction.has("local") && !instruction.has("param");
  return opcode == "atom" || opcode == "red" || opcode == "bar" || opcode == "barrier" ||
         opcode == "membar" || opcode == "fence" || opcode == "call";
}

// Code that nothing interrupts which orders memory, or a way back.
class Piece {
public:
  // Adds the instruction; true if a new wait begins with it.
  bool add(const Instruction& instruction) {
    std::uint32_t waits = 0; // how many must be over before the instruction can start
    const auto need = [&](std::uint32_t index) {
      if (const auto found = waits_before_.find(index); found != waits_before_.end())
        waits = std::max(waits, found->second);
    };
    if (instruction.guard.predicate >= 0) need(static_cast<std::uint32_t>(instruction.guard.predicate));
    for (std::size_t i = 1; i < instruction.operands.size(); ++i)
      each_register(instruction.operands[i], need);
    const bool load = is_global_load(instruction);
    if (load) waits = std::max(waits, over_);
    if (instruction.opcode != "mov") over_in_block_ = std::max(over_in_block_, waits);
    const bool begins = load && waits == begun_;
    if (begins) ++begun_;
    if (!instruction.operands.empty())
      each_register(instruction.operands[0],
                    [&](std::uint32_t index) { waits_before_[index] = waits + load; });
    return begins;
  }
  // What has been used in this block is not moved behind loads of the next one.
  void end_block() { over_ = std::max(over_, over_in_block_); }

private:
  std::unordered_map<std::uint32_t, std::uint32_t> waits_before_; // by register: for its value
  std::uint32_t begun_ = 0;
  std::uint32_t over_ = 0, over_in_block_ = 0; // waits, before the loads to come
};

} // namespace

namespace {

// By block: the first in the text that leads to it; itself if none does.
std::vector<std::uint32_t> first_predecessors(std::span<const BasicBlock> blocks) {
  std::vector<std::uint32_t> first(blocks.size());
  for (std::uint32_t b = 0; b < blocks.size(); ++b) first[b] = b;
  for (std::uint32_t b = 0; b < blocks.size(); ++b)
    for (const std::uint32_t next : blocks[b].successors) first[next] = std::min(first[next], b);
  return first;
}

bool is_reached_from_behind(std::span<const BasicBlock> blocks, std::uint32_t block) {
  for (std::uint32_t b = block; b < blocks.size(); ++b)
    if (std::ranges::find(blocks[b].successors, block) != blocks[b].successors.end()) return true;
  return false;
}

} // namespace

std::vector<std::uint8_t> load_waits(const Function& function, std::span<const BasicBlock> blocks) {
  std::vector<std::uint8_t> begins(function.body.size());
  const std::vector<std::uint32_t> earliest = first_predecessors(blocks);
  Piece piece;
  std::uint32_t piece_begin = 0; // a block
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    const BasicBlock& block = blocks[b];
    if (earliest[b] < piece_begin || is_reached_from_behind(blocks, b)) piece = {}, piece_begin = b;
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      if (orders_memory(function.body[i]))
        piece = {}, piece_begin = b;
      else
        begins[i] = piece.add(function.body[i]);
    }
    piece.end_block();
  }
  return begins;
}

} // namespace warpfold::ptx
