// From PTX instructions to operations: what a family of instructions needs to decode its members.
//
// To add an instruction: write its handler in the file of its family (instructions/) and name it in that
// file's table; then add a case to tests/emulator/machine/cases. The decoder finds it by the opcode;
// everything else (guards, blocks, counting, source lines) is automatic.
#pragma once

#include "block.hpp"

#include "ptx/chosen_loads.hpp"
#include "ptx/control_flow.hpp"
#include "ptx/copied_loads.hpp"
#include "ptx/load_waits.hpp"
#include "ptx/loops.hpp"
#include "ptx/printed_loads.hpp"
#include "ptx/registers.hpp"
#include "ptx/restored_loads.hpp"
#include "ptx/unset_registers.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace warpfold::machine {

class Decoder;

// Emits the operations of one instruction. Throws NotSupported if the machine does not have this form of it.
using Decode = void (*)(Decoder&, const ptx::Instruction&);

// What a guard (`@%p`) does to an operation of the opcode.
enum class Guarding : std::uint8_t {
  masks,   // switches lanes off for this operation
  skips,   // the operation may wait or exit: inactive lanes go around it, as by a branch
  decodes, // the decode function looks at the guard itself (bra)
};

struct Opcode {
  std::string_view name;
  Decode decode;
  Work work = Work::other;
  Guarding guarding = Guarding::masks;
};

// The families, one file each in instructions/.
#define FAMILY(name) std::span<const Opcode> name##_opcodes();
#include "instructions/families.def"
#undef FAMILY

// All of their tables.
inline std::vector<std::span<const Opcode>> families() {
  return {
#define FAMILY(name) name##_opcodes(),
#include "instructions/families.def"
#undef FAMILY
  };
}

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

// Rows begin at multiples of a cache line.
inline constexpr std::uint32_t row_alignment = 64;
// Bytes per lane of a register; 8-bit values are held in 16 bits. 0 for a predicate, which is a bit.
inline unsigned register_width(ptx::Type type) {
  return type == ptx::Type::pred ? 0 : std::max<unsigned>(2, static_cast<unsigned>(ptx::size_of(type)));
}

struct NotSupported : std::logic_error {
  using std::logic_error::logic_error;
};

class Decoder {
public:
  Decoder(const Program& program, Code& code, bool followed);
  void decode_kernel(std::uint32_t function);

  // Rows of operands. A source may be a register, an immediate, a special register or an address; it is read
  // as `type`. A destination is a register, or `_`, which gets a row that is never read. A register is
  // refused unless it is as wide as the type (PTX ISA 9.3): a handler accesses as many bytes of a row as its
  // types have.
  std::uint32_t source(const ptx::Operand& operand, ptx::Type type);
  std::uint32_t destination(const ptx::Operand& operand, unsigned width);
  std::uint32_t destination(const ptx::RegisterOperand& operand, unsigned width);
  // The same for instructions whose registers may be wider than their types (PTX ISA 9.4.1), so that their
  // handlers go by width_of().
  std::uint32_t wide_source(const ptx::Operand& operand, ptx::Type type);
  std::uint32_t wide_destination(const ptx::Operand& operand, unsigned width);
  std::uint32_t predicate(const ptx::Operand& operand); // a predicate register or constant
  std::uint32_t predicate(const ptx::RegisterOperand& operand);
  std::uint32_t row_of_guard(const ptx::Instruction& instruction); // the row of `@%p`
  bool is_negated(const ptx::Operand& operand) const;              // `!%p1`
  std::uint32_t register_row(std::uint32_t index);
  std::uint32_t constant(std::uint64_t bits, unsigned width, bool local_address = false);
  std::uint32_t scratch(unsigned width);
  unsigned width_of(const ptx::Operand& operand) const; // bytes of a register; 0 for anything else
  ptx::Type register_type(std::uint32_t index) const;
  const std::vector<ptx::Operand>& elements(const ptx::Operand& operand) const; // of a vector operand

  struct Address {
    ptx::Space space = ptx::Space::generic; // derived from the base if the instruction says `generic`
    std::uint32_t row = 0;                  // base addresses
    unsigned width = 8;                     // bytes of a base address: 4 or 8
    std::int64_t offset = 0;
    bool in_frame = false;            // a parameter slot of the function: `row` + `offset` is the place,
    std::uint32_t stride = 0;         // and lanes are `stride` bytes apart
    bool is_kernel_parameter = false; // `offset` counts from the parameter buffer's first byte
    std::uint32_t end = 0; // of the slot or the buffer: nothing checks these accesses when they run
  };
  // Throws NotSupported if the instruction reaches a parameter slot or a kernel's parameters beyond their
  // `end`; `bytes` is what it accesses there, and 0 for an instruction that may not access them at all.
  Address address(const ptx::Operand& operand, ptx::Space space, unsigned bytes = 0);

  Operation& emit(Handler run);
  Operation& emit(Handler run, std::uint32_t d, std::uint32_t a = 0, std::uint32_t b = 0,
                  std::uint32_t c = 0);
  void emit_unsupported(const std::string& message);
  std::uint32_t list(std::span<const std::uint32_t> values); // into Code::lists

  // Targets are instructions at first; they become pointers when everything is decoded.
  void set_target(Operation& op, std::uint32_t instruction);
  void set_reconvergence(Operation& op);          // at the current block's post-dominator
  void reconverge_after(std::uint32_t operation); // at the next operation
  void set_jump_table(Operation& op, std::span<const std::uint32_t> instructions);
  Frame::Slot slot(const ptx::Operand& operand); // an argument or result of a call

  const ptx::Function& function() const { return *function_; }
  const ptx::Module& module() const { return *code_.module; }
  const Program& program() const { return program_; }
  Code& code() { return code_; }
  bool in_kernel() const { return function_->is_entry; }

private:
  static constexpr std::uint32_t none = ~0u;
  // A pointer of an operation that is set when all operations have their final place.
  struct Fix {
    std::uint32_t operation = 0;
    bool is_target = false;  // else: `reconvergence`
    std::uint32_t place = 0; // an operation's index
  };

  const Program& program_;
  Code& code_;
  const bool followed_;
  std::vector<Fix> fixes_;
  std::vector<std::uint32_t> frame_entries_;                        // by frame: an operation's index
  std::unordered_map<std::uint32_t, std::uint64_t> shared_offsets_; // of module variables

  // Of the function that is being decoded.
  const ptx::Function* function_ = nullptr;
  std::uint32_t frame_ = 0, frame_bytes_ = 0, leader_ = 0, location_ = 0, block_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> register_rows_;
  std::unordered_map<std::uint32_t, Frame::Slot> variable_slots_;
  std::map<std::tuple<std::uint64_t, unsigned, bool>, std::uint32_t> constant_rows_;
  std::map<std::pair<ptx::Special, std::uint8_t>, std::uint32_t> special_rows_;
  std::vector<std::uint64_t> variable_offsets_; // of .local and .shared variables of the body
  std::vector<ptx::BasicBlock> blocks_;
  std::vector<std::uint32_t> block_of_, block_leaders_; // by instruction; by block: an operation's index
  std::vector<std::uint8_t> begins_wait_;               // by instruction
  std::vector<bool> printed_, restored_, copied_;
  std::vector<ptx::Synchronising> synchronising_; // likewise
  std::vector<ptx::Chooser> choosers_;            // by instruction
  std::vector<ptx::ParameterWords> pointers_;     // likewise
  // For registers that may be read before they are set: the row that says in which lanes (unset.cpp).
  std::unordered_map<std::uint32_t, std::uint32_t> unset_rows_;
  std::vector<Fix> local_fixes_;                                     // `place` is an instruction
  std::vector<std::pair<std::uint32_t, std::uint32_t>> table_fixes_; // index in Code::lists, instruction

  std::uint32_t allocate(std::uint64_t bytes, std::uint32_t alignment);
  std::uint32_t special(ptx::Special name, std::uint8_t component);
  std::uint64_t symbol_bits(const ptx::Symbol& symbol, bool& is_local) const;
  Frame::Slot slot_of(const ptx::Variable& variable); // a new one
  Frame::Slot variable_slot(std::uint32_t variable);  // a .param variable of the body
  Address address_of(const ptx::Operand& operand, ptx::Space space);
  // The row of a register of `least` to `most` bytes per lane; throws NotSupported for any other.
  std::uint32_t checked_row(std::uint32_t reg, unsigned least, unsigned most);
  void place_function_variables(const ptx::Function& function);
  void decode_function(std::uint32_t function);
  void decode_instruction(std::uint32_t index); // in the function's body
  void take_back(std::size_t count);            // all operations but the first `count`
  // Of the instruction whose operations begin with `first`; value_flow.cpp, like the next.
  void note_flow(const ptx::Instruction& instruction, std::size_t first);
  std::vector<ValueFlow::Place> places_of(const ptx::Operand& operand);
  std::vector<ValueFlow::Place> slots_of(const ptx::Instruction& instruction);
  void begin_block();
  // unset.cpp, all four.
  void emit_forget_registers(const std::vector<std::uint32_t>& unset); // at a function's entry
  void emit_follow_unset(const ptx::Instruction& instruction);         // before it
  void emit_use_of_unset(const ptx::Instruction& instruction);
  void emit_flow_of_unset(const ptx::Instruction& instruction);
  std::uint32_t unset_row(const ptx::Operand& operand) const; // 0 where the operand cannot be unset
  void link();
};

// Handlers that several families use.
const Operation* lead_block(Warp& warp, const Operation* op);     // control.cpp: begins a basic block
const Operation* guard(Warp& warp, const Operation* op);          // control.cpp: Guarding::masks
const Operation* skip_unless(Warp& warp, const Operation* op);    // control.cpp: Guarding::skips
const Operation* leave_function(Warp& warp, const Operation* op); // control.cpp: ret, and falling off the end
const Operation* stop_unsupported(Warp& warp, const Operation* op); // control.cpp

// The type of the instruction's last type modifier, or of the one before it for `from_last` 1.
ptx::Type type_modifier(const ptx::Instruction& instruction, unsigned from_last = 0);
[[noreturn]] void refuse(const ptx::Instruction& instruction, std::string_view why = "");

} // namespace warpfold::machine
