// A parsed PTX file: types, variables, functions and their instructions, with every name resolved. This is
// only syntax. Which opcodes exist and what they do is the machine's business, so an
// instruction is an opcode, a list of modifiers and operands, and nothing here has to change when one is
// added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace warpfold::ptx {

// Fundamental types (PTX ISA 5.2). `pred` is a register type only; `none` stands for "no type given".
enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  f64,
};
// Bytes of one value of the type; 0 for `none` and `pred`.
std::size_t size_of(Type type);
// The type that a modifier or directive such as "u32" names (without the dot); `none` if it names no type.
Type type_from(std::string_view name);
std::string_view name_of(Type type);

enum class Space : std::uint8_t { generic, global, constant, shared, local, parameter };

// A special register (PTX ISA 10). Components of vectors are separate: `%tid.x` is {tid, 0}, `%laneid` is
// {laneid, 0}. Numbered ones have the number as their component: `%envreg3` is {envreg, 3}; `%pm2_64` is {pm,
// 10}.
enum class Special : std::uint8_t {
  tid,
  ntid,
  laneid,
  warpid,
  nwarpid,
  ctaid,
  nctaid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  clusterid,
  nclusterid,
  cluster_ctaid,
  cluster_nctaid,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  dynamic_smem_size,
  total_smem_size,
  aggr_smem_size,
  current_graph_exec,
  reserved_smem_offset_begin,
  envreg,
  reserved_smem_offset_end,
  reserved_smem_offset_cap,
  reserved_smem_offset,
  pm,
};

// The kinds of things that a name in an operand refers to.
struct Symbol {
  enum class Scope : std::uint8_t {
    module_variable, // index into Module::variables
    local_variable,  // index into Function::variables
    parameter,       // index into Function::parameters
    result,          // index into Function::results
    function,        // index into Module::functions
    prototype,       // index into Function::prototypes (of an indirect call)
  };
  Scope scope{};
  std::uint32_t index = 0;
};

struct Sink {}; // `_`
struct RegisterOperand {
  std::uint32_t index = 0;
  bool negated = false;
}; // Function::registers; `!%p1`
struct Immediate {
  enum class Kind : std::uint8_t { integer, single, real }; // 42 or 0x2a; 0f3F800000; 0d... or 1.5
  Kind kind = Kind::integer;
  std::uint64_t bits = 0; // two's complement, or IEEE bits of a single (low 32) or of a double
};
struct SpecialOperand {
  Special name{};
  std::uint8_t component = 0;
}; // component: x 0, y 1, z 2
struct SymbolOperand {
  Symbol symbol;
  std::int64_t offset = 0;
}; // an address taken: `mov.u64 %rd1, table+8;`
struct LabelOperand {
  std::uint32_t target = 0;
};                                                            // instruction index in Function::body
struct AddressOperand {                                       // `[base+offset]`
  std::variant<std::monostate, RegisterOperand, Symbol> base; // monostate: an absolute address
  std::int64_t offset = 0;
};
struct Operand;
struct VectorOperand {
  std::vector<Operand> elements;
}; // `{%f1, %f2}`, and the lists of call and brx
struct PairOperand {
  RegisterOperand first, second;
  bool first_is_sink = false, second_is_sink = false;
}; // `%p1|%p2`
struct Operand {
  std::variant<Sink, RegisterOperand, Immediate, SpecialOperand, SymbolOperand, LabelOperand, AddressOperand,
               VectorOperand, PairOperand>
      value;
};
// The values that an operand names: one, or the elements of a vector.
inline std::span<const Operand> values_of(const Operand& operand) {
  if (const auto* vector = std::get_if<VectorOperand>(&operand.value)) return vector->elements;
  return {&operand, 1};
}

struct Guard {                 // `@%p1` or `@!%p1`
  std::int32_t predicate = -1; // index into Function::registers; -1: unguarded
  bool negated = false;
};

// One instruction. The operands are in the order of the text, except in three forms:
//   call       {VectorOperand results, callee (SymbolOperand or RegisterOperand), VectorOperand arguments
//               [, SymbolOperand prototype]}; the lists are empty if the text omits them
//   brx.idx    {index, VectorOperand of LabelOperand}
//   [a, {x, y}]  (tex, surf, cp.async.bulk.tensor) a VectorOperand of the AddressOperand and what follows it
// A text may give an instruction fewer operands than it takes: one that is not there throws
// std::out_of_range.
struct Operands : std::vector<Operand> {
  using std::vector<Operand>::vector;
  const Operand& operator[](std::size_t i) const { return at(i); }
  Operand& operator[](std::size_t i) { return at(i); }
};

struct Instruction {
  // Both look into storage that Module::text keeps alive: an instruction must not outlive its module.
  std::string_view opcode; // "add", "ld", "bar", "mbarrier": the part before the first dot
  std::span<const std::string_view>
      modifiers; // "global", "v4", "f32": in order, without dots ("L1::no_allocate"
                 // stays whole); equal names share one list, so its data() compares
  Guard guard;
  Operands operands;
  std::uint32_t location = 0;  // index into Module::locations; 0 means unknown
  std::uint32_t text_line = 0; // line in the PTX text, from 1
  // It comes from CUB, Thrust, libcu++ or cooperative groups, or from what these call.
  bool of_library = false;
  bool of_other_file = false; // than the source line that it is charged to: source_lines.hpp
  // Of a barrier: the memory that it orders (`.pragma "warpfold orders shared"`, `global` or `nothing` before
  // it, as OpenCL's flags say); generic: all; local: none.
  Space orders = Space::generic;
  bool has(std::string_view modifier) const;
  std::string name() const; // "ld.global.v4.f32"
};

struct Register {
  std::string name;
  Type type{};
};

struct Initialiser { // a constant or an address, `size` bytes wide, at `offset` of the variable
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
  std::uint64_t bits = 0; // the constant, or the offset from the symbol's address
  bool is_address = false;
  bool generic = false;   // written `generic(name)`: the address as a generic one
  std::uint8_t shift = 0; // `0xff00(name)` style masks: bits to shift the address right before storing
  Symbol symbol;
};

// Linking directives (PTX ISA 11.6). Only its own module sees a symbol without one.
enum class Linkage : std::uint8_t { local, visible, external, weak, common };

struct Variable {
  std::string name; // as in the text; locals of nested scopes keep their name
  Space space{};
  Type type{};
  std::uint64_t size = 0; // bytes; 0 for `extern .shared x[];`
  std::uint32_t alignment = 1;
  Linkage linkage{};
  bool is_extern = false;           // defined by another module, or sized at launch
  bool is_managed = false;          // .attribute(.managed)
  std::vector<Initialiser> initial; // bytes not named are 0
};

struct Prototype {
  std::vector<Variable> results, parameters;
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool has_body = false; // false: a declaration (vprintf, malloc, ...)
  Linkage linkage{};
  std::vector<Variable> parameters, results; // space `parameter`, or `.reg` results: see result_registers
  std::vector<Register> registers; // `.reg .b32 %r<3>` is three entries; a nested scope's are separate
  std::vector<std::uint32_t> result_registers,
      parameter_registers;         // for functions declared with .reg, else empty
  std::vector<Variable> variables; // .local, .shared and .param declared inside the body
  std::vector<Prototype> prototypes;
  // Always ends in a terminator: if the text does not, a `ret` is added. An `.alias` has a copy of its
  // target's.
  std::vector<Instruction> body;
  std::uint32_t max_threads[3] = {0, 0, 0};      // .maxntid (0: not given)
  std::uint32_t required_threads[3] = {0, 0, 0}; // .reqntid
  std::uint32_t cluster[3] = {0, 0, 0};          // .reqnctapercluster
  bool explicit_cluster = false;                 // .explicitcluster
  bool blocks_are_clusters = false; // .blocksareclusters: a launch's grid counts clusters, not blocks
  std::uint32_t location = 0;       // of the function itself
};

struct Location {
  std::uint32_t file = 0; // index into Module::files; 0 is "" (unknown)
  std::uint32_t line = 0;
  std::uint32_t call_line = 0; // of inlined code: the line, in the same file, that calls it; else 0
};

struct Module {
  int version_major = 0, version_minor = 0; // .version 9.0
  int target = 0; // .target sm_75 is 75; suffixes (sm_90a) are kept in target_suffix
  std::string target_suffix;
  bool is_debug = false;              // compiled with -G: every variable lies in local memory
  std::vector<std::string> files{""}; // by order of appearance; files[0] is ""
  // Where an instruction is charged to. For inlined code it is the innermost position in the program's own
  // file, so that a shuffle counts on the student's line, not in NVIDIA's header. `line 0` repeats the line
  // before.
  std::vector<Location> locations{{}};
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::shared_ptr<const void> text; // what opcodes and modifiers refer to
};

// Thrown by `parse`; `line` is in the PTX text, from 1.
struct ParseError : std::runtime_error {
  ParseError(std::uint32_t line, const std::string& message);
  std::uint32_t line;
};

// Parses one PTX file. Debug sections (.section) and pragmas are skipped.
// Throws ParseError for anything that is not well-formed PTX, and otherwise only std::bad_alloc.
Module parse(std::string_view text);

} // namespace warpfold::ptx
