// Registers that a function may read before anything was put into them.
#pragma once

#include "ptx/control_flow.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace warpfold::ptx {

// What an instruction puts something into, and what it reads, by index in Function::registers.
struct RegisterUse {
  std::vector<std::uint32_t> written, read;
};
RegisterUse registers_of(const Instruction& instruction);

// The registers that some path from the function's entry reaches with nothing put into them, at an
// instruction that reads them. A compiler leaves such reads where a variable was never set, but also where it
// knows that what is read does not matter: whether it does shows only when the function runs.
std::vector<std::uint32_t> unset_registers(const Function& function, std::span<const BasicBlock> blocks);

// How what an instruction reads gets into what it writes.
enum class Flow : std::uint8_t {
  fresh,     // not at all: what a load brings, a vote says or a function returns
  copied,    // mov, also one that takes a value apart
  packed,    // mov of several registers into one
  selected,  // selp
  exchanged, // shfl
  combined,  // everything that computes
};
Flow flow_of(const Instruction& instruction);

// The registers into which the value of one of `unset` may get, these included, in order.
std::vector<std::uint32_t> reached_from(const Function& function, const std::vector<std::uint32_t>& unset);

} // namespace warpfold::ptx
