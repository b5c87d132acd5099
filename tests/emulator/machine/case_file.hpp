// A case file says what instructions do: PTX with letters as operands, followed by inputs and expected
// outputs.
//
//   # add.sat clamps to the largest value.
//   add.sat.s32 d, a, b
//     2147483647 1 -> 2147483647
//     -1 1 -> 0
//
// `a b c g h i` are inputs and `d e f` are outputs. Each has the instruction's last type unless its first
// mention names another one (`a:u16`). `m` is the address of 64 bytes of global memory that belong to the
// lane alone, `s` the offset of 64 bytes of shared memory, `l` that of 64 bytes of local memory. Several
// instructions may be in one line, separated by `;`. A predicate is `g:pred`, written 0 or 1, and may be
// negated in the instruction (`!g`) or be its second destination (`d|e:pred`, or `_|e:pred`).
//
// The indented lines are lanes: the first one is lane 0's, and if there are fewer than 32, they repeat. A
// value is a decimal or hexadecimal integer, a floating-point number, `inf`, `nan`, or bits, `#3f800000`; `~`
// before an output means approximately (see Value::tolerance). An indented `! text` after the heading
// replaces these lines: the launch stops, or is refused, with that message. Lines that begin with a dot
// (variables, functions) are placed before the kernels of the whole file.
#pragma once

#include "ptx/module.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace warpfold::cases {

struct Operand {
  char letter = 0;
  ptx::Type type{};
};

struct Value {
  unsigned __int128 bits = 0;
  double tolerance = 0; // relative; 0: the bits must be equal, except that any NaN matches a NaN
};

struct Lane {
  std::uint32_t line = 0;
  std::vector<Value> inputs, outputs;
};

struct Instruction {
  std::string text; // in PTX form: operands without their types
  std::uint32_t line = 0;
  std::vector<Operand> inputs, outputs; // in the order of their letters
  std::vector<Lane> lanes;
  std::string fault; // if not empty: part of the message with which the launch must stop
};

struct CaseFile {
  std::string preamble;
  std::vector<Instruction> instructions;
};

// Throws std::runtime_error with the file and the line if the file is malformed.
CaseFile read_cases(const std::filesystem::path& path);

// The bits of one value of the type; throws std::runtime_error.
Value parse_value(std::string text, ptx::Type type);
bool agrees(const Value& expected, unsigned __int128 found, ptx::Type type);
std::string show(unsigned __int128 bits, ptx::Type type);

// How the instruction is embedded in a kernel: for all lanes, after a branch that the odd lanes take, or with
// the odd lanes' predicate as its guard. `is_possible`: lanes that wait for each other cannot be separated.
enum class Wrapping : std::uint8_t { plain, branch, guard };
bool is_possible(Wrapping wrapping, const Instruction& instruction);

// A module with one kernel, `test(inputs, outputs, memory)`: each lane has `slots_per_lane` slots of 16 bytes
// for inputs and as many for outputs, and 64 bytes of memory.
inline constexpr unsigned slots_per_lane = 8, slot_bytes = 16, memory_bytes = 64;
std::string wrap(const CaseFile& file, const Instruction& instruction, Wrapping wrapping, int target);

} // namespace warpfold::cases
