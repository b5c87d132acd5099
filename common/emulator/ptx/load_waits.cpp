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

// A part of a basic block that contains nothing that orders memory.
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
    const bool begins = load && waits == begun_;
    if (begins) ++begun_;
    if (!instruction.operands.empty())
      each_register(instruction.operands[0],
                    [&](std::uint32_t index) { waits_before_[index] = waits + load; });
    return begins;
  }

private:
  std::unordered_map<std::uint32_t, std::uint32_t> waits_before_; // by register: for its value
  std::uint32_t begun_ = 0;
};

} // namespace

std::vector<std::uint8_t> load_waits(const Function& function, std::span<const BasicBlock> blocks) {
  std::vector<std::uint8_t> begins(function.body.size());
  for (const BasicBlock& block : blocks) {
    Piece piece;
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      if (orders_memory(function.body[i]))
        piece = {};
      else
        begins[i] = piece.add(function.body[i]);
    }
  }
  return begins;
}

} // namespace warpfold::ptx
