// A decoded kernel: one flat array of operations, each with a handler and the locations of its operands. It
// runs without any look-up by name.
//
// A register is a *row*: one value for each of the 32 lanes, side by side (a predicate is one bit per lane).
// Constants and special registers are rows too, filled before the block starts, so that a handler never asks
// what kind of operand it was given. Rows are named by their offset in the frame of the function that runs.
#pragma once

#include "machine.hpp"
#include "ptx/pointer_parameters.hpp"
#include "ptx/synchronising.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace warpfold::machine {

struct Warp;
struct Operation;

// Executes one operation for the active lanes. Returns the next operation, or null if the warp must stop for
// now (because it waits, it is done, or its time slice is over).
using Handler = const Operation* (*)(Warp&, const Operation*);

struct alignas(64) Operation {
  Handler run = nullptr;
  Handler guarded = nullptr;                // if set, `run` is the guard, and this is the guarded handler
  const Operation* target = nullptr;        // branches: the target
  const Operation* reconvergence = nullptr; // and the reconvergence point of lanes that it made diverge
  std::uint32_t d = 0, a = 0, b = 0, c = 0; // rows: destination and sources
  std::int64_t immediate = 0;               // address offset, or whatever the handler defines
  std::uint32_t index = 0;                  // its own index in Code::operations, and that of its counters
  std::uint32_t location = 0;               // index into ptx::Module::locations
  std::uint32_t guard = 0;                  // row of the guarding predicate
  bool guard_negated = false;
  std::uint8_t width = 0; // bytes of an address register: 4 or 8
  std::uint8_t order = 0; // MemoryOrder of memory operations and fences
  std::uint8_t scope = 0; // MemoryScope likewise
  std::uint32_t e = 0;    // a fourth source, or a count
  std::uint32_t list = 0; // first entry in Code::lists (vector elements, call arguments, jump tables)
};

// `unordered` is volatile: each access happens, but it orders nothing.
enum class MemoryOrder : std::uint8_t {
  weak,
  unordered,
  relaxed,
  acquire,
  release,
  acquire_release,
  sequential
};
enum class MemoryScope : std::uint8_t { block, cluster, device, system };

struct Constant {
  std::uint32_t row = 0;
  std::uint8_t width = 0;     // 2, 4, 8 or 16 bytes per lane; 0: a predicate
  bool local_address = false; // `bits` is an offset in the function's local memory
  std::uint64_t bits = 0, high_bits = 0;
};

struct SpecialRow {
  std::uint32_t row = 0;
  ptx::Special name{};
  std::uint8_t component = 0;
};

// What a call of the function needs: a frame of rows, and the layout of the frame.
struct Frame {
  const Operation* entry = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t local_bytes = 0; // local memory per lane
  std::vector<Constant> constants;
  std::vector<SpecialRow> specials;
  struct Slot {
    std::uint32_t row = 0, width = 0;
  }; // `width` bytes per lane, side by side
  std::vector<Slot> parameters, results;
  std::uint32_t function = 0; // index into ptx::Module::functions
};

// What an instruction counts as, beside an instruction. The row of its opcode says so.
enum class Work : std::uint8_t {
  other,
  arithmetic,
  load,
  store,
  atomic,
  barrier,
  memory_barrier, // mbarrier
  fence,
  branch,
  shuffle,
  vote,
  warp_reduction,
  matrix, // a multiplication of matrices
  texture,
  surface,
};

// What is known of an operation before it runs.
struct OperationFacts {
  // Of its basic block, which counts how often the block was entered. An operation that is not in the PTX (a
  // leader) is its own leader. The operations of a block follow its leader.
  std::uint32_t leader = 0;
  Work work{};
  bool is_instruction = false; // of the PTX, not a leader or the like
  bool begins_wait = false;    // a load with which a wait begins: ptx/load_waits.hpp
  bool is_repeated = false;    // a barrier of the warp that stands in a loop
  bool is_printed = false;     // a load for a printf alone: ptx/printed_loads.hpp
  bool is_restored = false;    // a load that is only stored again: ptx/restored_loads.hpp
  bool is_copied = false;      // as part of a structure, perhaps: ptx/copied_loads.hpp
  bool of_library = false;     // from CUB and other libraries: ptx::Instruction
  bool of_other_file = false;  // than its source line: of what that line calls
  ptx::Space orders{};         // of a barrier: ptx::Instruction
  ptx::Synchronising synchronising;
  // Of a load: the predicate by which a lane needs what it brings (ptx/chosen_loads.hpp); 0: it always does.
  std::uint32_t chooser = 0;
  bool chooser_negated = false;
  // Of an access: the words of the kernel's parameters that its address may be counted from.
  ptx::ParameterWords pointers = 0;
};

// Which values an instruction brings where, for a watcher that follows them.
struct ValueFlow {
  enum class Kind : std::uint8_t {
    computed,     // each destination from all sources together
    copied,       // mov: one source; it goes to several destinations part by part
    packed,       // mov: several sources into one destination
    selected,     // selp: the first source where the predicate `chooser` is true, else the second
    exchanged,    // shfl: from another lane's source
    warp_reduced, // redux: from the sources of all active lanes
    multiplied,   // mma: from other lanes' sources, too (factors_of in matrix_shapes.hpp)
    accessed,     // loads, stores and atomics: Watcher::access() sees them
    unrelated,    // from no value that is followed: votes, the kernel's arguments
  };
  enum class Origin : std::uint8_t {
    constant,
    thread,   // from the numbers of thread, lane, warp or block
    argument, // from what the launch was given: arguments and sizes
    followed, // whatever the register holds
  };
  struct Place { // lane i's value is in row `row`, at i * `stride`
    std::uint32_t row = 0, width = 0, stride = 0;
    Origin origin = Origin::followed; // of a source
  };
  Kind kind{};
  std::vector<Place> to, from;
  struct Product { // of a matrix of `rows` and one of `columns`, in so many registers per lane
    unsigned rows = 0, columns = 0, registers_of_a = 0, registers_of_b = 0;
  } product;
  std::uint32_t chooser = 0; // the row of a predicate
  bool chooser_negated = false;
  // Of a shuffle: the lane that a lane's value comes from, given the second and third source's values.
  unsigned (*source_lane)(unsigned lane, std::uint32_t b, std::uint32_t c) = nullptr;
  std::uint32_t last_operation = 0; // with which the instruction has been executed
  bool overwrites_source = false;   // a destination is a source, too
};

struct Code {
  const Program* program = nullptr;
  const ptx::Module* module = nullptr;
  std::vector<Operation> operations;
  std::vector<OperationFacts> facts;           // by operation
  std::vector<std::string> names;              // "ld.global.f32", by operation; "" if it is not in the PTX
  std::vector<Frame> frames;                   // the kernel's own first
  std::vector<std::int32_t> frame_of_function; // by module function; -1: not part of this kernel
  std::vector<std::uint32_t> lists;
  std::vector<std::string> messages; // of operations that stop the launch
  struct SharedName {
    std::uint64_t offset = 0, size = 0;
    std::string name;
  };                                       // size 0: to the end
  std::vector<SharedName> shared_names;    // variables in shared memory, by offset
  std::uint32_t static_shared = 0;         // bytes
  std::uint32_t dynamic_shared_offset = 0; // where the launch's own shared memory begins
  bool has_calls = false;
  bool calls_runtime = false; // see calls_runtime()
  bool prints = false;        // has loads for a printf alone
  bool polls = false;         // has a loop that waits for what others write: ptx/synchronising.hpp
  // Only if the kernel was decoded to be followed: the flows, and by operation its flow; -1: it has none.
  std::vector<ValueFlow> flows;
  std::vector<std::int32_t> flow_of;

  const ValueFlow* flow(const Operation& operation) const {
    const std::int32_t index = flow_of[operation.index];
    return index < 0 ? nullptr : &flows[static_cast<std::size_t>(index)];
  }
  SourceLine line_of(const Operation& operation) const;
  SourceLine line_at(std::uint32_t location) const;
};

// Decodes the kernel and every function that it can reach. Instructions that the machine does not have become
// operations that stop the launch with their name; throws std::runtime_error only if the kernel cannot be
// laid out.
std::unique_ptr<Code> decode(const Program& program, std::uint32_t function, bool followed = false);

} // namespace warpfold::machine
