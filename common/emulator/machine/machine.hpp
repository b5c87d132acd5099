// The machine as the runtime sees it: it loads PTX modules and launches their kernels.
//
//   ptx::Module --Program--> Kernel (decoded at first launch) --launch--> LaunchRecord (counters, or a fault)
#pragma once

#include "address_space.hpp"
#include "ptx/module.hpp"
#include "schedule.hpp"
#include "textures.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpfold::machine {

class DeviceRuntime;
class Watcher;
struct Code; // a decoded kernel: code.hpp

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

// The limits that the emulated device has and enforces (CUDA Programming Guide, "Compute Capabilities", 7.5).
struct Limits {
  static constexpr std::uint32_t warp_size = 32, threads_per_block = 1024, shared_per_block = 48 * 1024,
                                 shared_per_block_optin = 96 * 1024, registers_per_block = 65536,
                                 multiprocessors = 16, threads_per_multiprocessor = 1024,
                                 blocks_per_multiprocessor = 16, constant_bytes = 64 * 1024,
                                 local_per_thread = 512 * 1024, smallest_stack = 16 * 1024,
                                 parameter_bytes = 32764; // since CUDA 12.1

  static constexpr Dim3 block{1024, 1024, 64}, grid{0x7fffffff, 65535, 65535};
};

struct SourceLine {
  std::string file; // "" if the program was built without -lineinfo
  std::uint32_t line = 0;
  std::uint32_t call_line = 0; // of an inlined function: the line, in the same file, that calls it
};

// Why a launch stopped, as a sentence for the student.
struct Fault {
  enum class Kind {
    out_of_bounds,
    use_after_free,
    peer_access,
    peer_variable,
    peer_pool, // memory of a pool
    misaligned,
    bulk_units, // of a bulk copy: no multiple of 16
    trap,
    assertion,
    barrier,
    unpaired_arrival, // at the barrier of a cluster
    no_mbarrier,      // it is not initialised
    more_arrivals,    // than an mbarrier waits for
    phase,            // an mbarrier waits for arrivals that do not come
    missing_bytes,    // an mbarrier waits for bytes that do not come
    warp_mask,
    partial_warp,
    endless,
    waiting,  // endless, and in loops that poll memory
    too_slow, // out of time, though its blocks end
    interrupted,
    unsupported,
    stack_overflow,
    invalid_instruction,
    out_of_memory, // of the host
  };
  Kind kind{};
  SourceLine where = {}, other = {};
  std::string message = {};
  bool was_reported = false; // by a watcher, and the launch continued
  bool follows = false;      // from the fault of another kernel, for which this one waited
  enum class Region {
    global,
    shared,
    missing_shared,
    other_block,
    local,
    local_by_rank,
    surface,
    end_of_array,
    nowhere
  } region{}; // of a bad access; missing: none was given; other: of the cluster; by_rank: a thread's own
              // memory, as if it were that of a block of the cluster; end: it begins within; nowhere: far
              // from any
  // Of an access past the end of an array in global memory: which element, of how many. 0 of 0: unknown.
  std::uint64_t element = 0, elements = 0;
  std::uint64_t address = 0, block = 0; // of a bad access
  bool is_of_null = false;              // an access through a null pointer
  // The byte of the parameters where the pointer stands that the access counts from; -1: unknown.
  std::int64_t pointer_at = -1;
  std::string launch = {}; // the call that launched the kernel, in words
  enum class Argument {
    none,
    null,
    null_and_zero, // a null pointer, and an integer that is 0
    overflowed,    // an array that has the element whose index is 2^32 greater
    more_blocks,   // an array with fewer elements than the grid has blocks
    more_than_elements,
    swapped
  } argument{}; // of the launch, that explains it
};

struct Parameter {
  std::uint32_t offset = 0, size = 0;
}; // location of a kernel parameter in the parameter buffer
// Throws std::runtime_error if they take more than Limits::parameter_bytes.
std::vector<Parameter> lay_out_parameters(const ptx::Function& kernel);
std::uint32_t parameter_bytes(const ptx::Function& kernel);

struct KernelAttributes {
  std::uint32_t static_shared = 0, local_per_thread = 0, registers = 0,
                constant = 0; // bytes; registers per thread
  std::uint32_t max_threads_per_block = 1024;
};

class Program;

class Kernel {
public:
  const std::string& name() const;
  const std::vector<Parameter>& parameters() const;
  std::uint32_t parameter_bytes() const;
  const KernelAttributes& attributes() const;
  Program& program() const { return *program_; }
  // Decodes at the first call. `followed`: with the flows of values, for Watcher::executed().
  const Code& code(bool followed = false);

  Kernel(Program& program, std::uint32_t function);
  ~Kernel();
  Kernel(Kernel&&) noexcept;

private:
  Program* program_;
  std::uint32_t function_;
  std::vector<Parameter> parameters_;
  std::uint32_t parameter_bytes_ = 0;
  KernelAttributes attributes_;
  std::unique_ptr<Code> code_, followed_code_;
};

struct PlacedVariable {
  std::string name;
  std::uint64_t address = 0, size = 0;
};

// Where a module's variables go: to a device, apart from the managed ones, which belong to none. Of those,
// all devices use the same: the ones of `first`, unless it is null.
struct ProgramPlace {
  int device = 0;
  std::vector<std::string> managed;
  const Program* first = nullptr;
};

// One PTX module in a device's memory.
class Program {
public:
  // Places the module's variables in `memory` (initialised) and makes all checks that are possible before a
  // launch. Throws ptx::ParseError or std::runtime_error with a message for the user.
  Program(ptx::Module module, AddressSpace& memory, ProgramPlace place = {});
  ~Program();

  Kernel* kernel(std::string_view name);                       // null where there is none
  const PlacedVariable* variable(std::string_view name) const; // null where there is none
  const ptx::Module& module() const { return module_; }
  AddressSpace& memory() const { return *memory_; }
  int device() const { return place_.device; }
  // Gives the variables in global memory, apart from constants, the values that they began with. No kernel
  // may run meanwhile.
  void restore_variables();
  // Address of a module variable or (tagged) of a function, as `mov.u64 %rd, name` gives it.
  std::uint64_t address_of(const ptx::Symbol& symbol) const;
  const ptx::Function* function_at(std::uint64_t address) const; // null where there is none

private:
  ptx::Module module_;
  AddressSpace* memory_;
  ProgramPlace place_;
  bool is_managed(const std::string& variable) const;
  void initialise(bool (*concerns)(ptx::Space));
  std::vector<Kernel> kernels_;
  std::vector<PlacedVariable> variables_; // parallel to module_.variables; address 0 for .shared
};

struct LaunchShape {
  Dim3 grid, block;
  std::uint32_t dynamic_shared = 0; // bytes
  bool cooperative = false;         // every block resident at the same time
  Dim3 cluster{1, 1, 1};            // blocks of a cluster; divides the grid
  bool explicit_cluster = false;    // the kernel or the launch gave it
  std::uint64_t grid_workspace =
      0; // of a cooperative launch: where its blocks synchronise (%envreg1 and %envreg2)
};

struct LaunchOptions {
  unsigned workers = 0;         // host threads; 0: one per core
  std::uint64_t step_limit = 0; // warp instructions of one block without its end; 0: the default (2^32)
  std::chrono::milliseconds time_limit{0};       // of the launch, as wall time; 0: none
  std::uint32_t stack_bytes = 0;                 // of a thread, for calls; at least smallest_stack
  bool prints = true;                            // whether printf prints
  std::uint64_t print_limit = 0;                 // lines of printf of the launch that are printed; 0: all
  Watcher* watcher = nullptr;                    // null: count only
  const PeerAccess* peers = nullptr;             // null: the kernel reaches all memory
  std::shared_ptr<const Textures> textures = {}; // null: there are none
  Schedule schedule;
  // Set from outside (by a signal, or the program's own time limit): the launch stops soon, as `interrupted`.
  const std::atomic<bool>* interrupt = nullptr;
  // How long all threads may wait for values in memory while none changes any, before the launch is stopped.
  std::chrono::milliseconds patience{10'000};
  // Whether the host or another process may yet write what a kernel waits for. None: they cannot.
  std::function<bool()> may_be_changed = {};
  DeviceRuntime* device_runtime = nullptr; // that kernels call; null: none
  // Adds to a fault what only the host knows: how the kernel was launched. Any thread may call it.
  std::function<void(Fault&)> complete = {};
  // Whether the argument at this byte of the parameters is a pointer to single bytes.
  std::function<bool(std::int64_t)> points_to_bytes = {};
};

// What one instruction did in a launch, summed over all warps. Instructions that touch no memory use the
// first two.
struct OperationCounters {
  std::uint64_t warps = 0, threads = 0;                    // issued: once per warp; lanes active then
  std::uint64_t requests = 0, sectors = 0, wavefronts = 0; // memory: see coalescing.hpp
  std::uint64_t ideal_wavefronts = 0;                      // wavefronts without any bank conflict
  std::uint64_t lanes = 0, bytes = 0;                      // lanes that accessed; bytes of global memory
  std::uint64_t first_threads = 0;                   // of `lanes`, in global memory: a block's first thread
  std::uint64_t own_places = 0;                      // of `lanes`: see is_own_place() in access.hpp
  std::uint64_t divergent = 0;                       // branches at which lanes diverged
  std::uint64_t peer_requests = 0;                   // of `requests`: some of it to other devices
  std::uint64_t peer_sectors = 0;                    // of `sectors`: in other devices' memory
  std::uint64_t dsmem_requests = 0, dsmem_bytes = 0; // of shared memory of other blocks; not in `requests`
};

// The bytes that the busiest thread, warp or block of a launch read with plain loads. Loads of global memory
// that poll what others may write are left out: how often a thread polls depends on who came first.
struct BusiestReaders {
  std::uint64_t thread = 0, warp = 0, block = 0; // of global memory
  std::uint64_t thread_in_shared = 0;            // a thread of shared memory
  std::uint64_t span_of_block = 0; // from the first byte that a block read to the last, whatever it skipped
  std::uint64_t bulk_loads = 0;    // no bytes: bulk copies into a block's shared memory, in flight together

  void include(const BusiestReaders& other) {
    thread = std::max(thread, other.thread), warp = std::max(warp, other.warp);
    block = std::max(block, other.block);
    thread_in_shared = std::max(thread_in_shared, other.thread_in_shared);
    span_of_block = std::max(span_of_block, other.span_of_block);
    bulk_loads = std::max(bulk_loads, other.bulk_loads);
  }
};

struct LaunchRecord {
  std::string kernel; // mangled name
  LaunchShape shape;
  const Kernel* source = nullptr; // whose instructions `counters` follow; lives as long as its Program
  std::vector<OperationCounters> counters; // by decoded instruction: Code::operations
  BusiestReaders busiest;
  int device = 0;
  LinkTraffic links;
  std::uint64_t blocks = 0;   // blocks that ran
  std::uint64_t printed = 0;  // lines of printf, those left out too
  bool looked = false;        // a thread read, by an atomic or a strong load, what others may write
  std::optional<Fault> fault; // if set, the launch stopped there, and memory is as it was then
};

// Runs a grid to its end on the calling thread and `workers` - 1 more. `parameters` has
// kernel.parameter_bytes(). The shape must have been checked (runtime/launches/launch.cpp refuses one that
// exceeds a limit).
LaunchRecord launch(Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
                    const LaunchOptions& options);

// Whether the kernel calls malloc, free or the device runtime, whose effects putting memory back does not
// undo.
bool calls_runtime(Kernel& kernel);
// Whether it has a loop that ends when another thread, of the host perhaps, has written.
bool polls(Kernel& kernel);
// Whether all kernels that run have done nothing for so long but wait for a value in memory; no if none runs.
bool all_kernels_wait(std::chrono::steady_clock::duration time);
// Whether one that runs has done something else within that time.
bool any_kernel_computes(std::chrono::steady_clock::duration time);

// Of all kernels that run now.
struct BlocksRunning {
  std::uint64_t done = 0, all = 0;
};
BlocksRunning blocks_running();

// Whether this thread executes a kernel now. Takes no lock, so a signal handler may call it.
bool executes_kernel();

// A kernel that an error stops is remembered, for the sake of those that wait for it, until this is called:
// when all begins anew.
void forget_stopped_kernels();

} // namespace warpfold::machine
