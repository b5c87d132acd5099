#include "runtime/launches/launch.hpp"

#include "machine/demangled.hpp"
#include "machine/reach.hpp"
#include "runtime/devices/device_limits.hpp"
#include "runtime/devices/devices.hpp"
#include "runtime/launches/clusters.hpp"
#include "runtime/launches/device_launches.hpp"
#include "runtime/launches/launch_words.hpp"
#include "runtime/launches/progress.hpp"
#include "runtime/memory/ipc.hpp"
#include "runtime/memory/textures.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/call_sites.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/reporting/signals.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/streams.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <thread>
#include <utility>

namespace warpfold::runtime {

using machine::Dim3;
using machine::Limits;

std::string text(const Dim3& size) {
  return fmt::format("({}, {}, {})", size.x, size.y, size.z);
}

namespace {

[[noreturn]] void refuse(cudaError_t code, const KernelEntry& entry, const std::string& what) {
  throw Refusal(code, fmt::format("{}: {}", readable_name(entry), what));
}

void check_dimension(const KernelEntry& entry, const char* what, const Dim3& size, const Dim3& limit) {
  if (size.count() == 0)
    refuse(
        cudaErrorInvalidConfiguration, entry,
        fmt::format("the {} is {}: every dimension must be at least 1. A number of blocks "
                    "becomes 0 where there are no elements, for which no launch is needed, where a division "
                    "rounds down to 0, and where a number beyond 2^32 is cut off",
                    what, text(size)));
  if (size.x > limit.x || size.y > limit.y || size.z > limit.z)
    refuse(cudaErrorInvalidConfiguration, entry,
           fmt::format("the {} is {}, larger than the device's limit {}", what, text(size), text(limit)));
}

void check_threads(const KernelEntry& entry, const Dim3& block) {
  const std::uint64_t threads = block.count();
  if (threads > Limits::threads_per_block)
    refuse(cudaErrorInvalidConfiguration, entry,
           fmt::format("the block {} has {} threads, more than the device's limit of {}", text(block),
                       threads, Limits::threads_per_block));
  const std::uint32_t bound = entry.kernel->attributes().max_threads_per_block;
  if (threads > bound)
    refuse(
        cudaErrorLaunchOutOfResources, entry,
        fmt::format("the block {} has {} threads, more than the {} that the kernel's __launch_bounds__ allow",
                    text(block), threads, bound));
}

// What the kernel itself requires: a certain block shape (__block_size__).
void check_required(const KernelEntry& entry, const Dim3& block) {
  const auto& required = entry.function->required_threads;
  const Dim3 wanted{required[0], std::max(1u, required[1]), std::max(1u, required[2])};
  if (required[0] && (wanted.x != block.x || wanted.y != block.y || wanted.z != block.z))
    refuse(cudaErrorInvalidValue, entry,
           fmt::format("the block is {}, but the kernel is compiled for {} only", text(block), text(wanted)));
}

void check_shared(const KernelEntry& entry, std::uint32_t dynamic_shared) {
  const std::uint32_t fixed = entry.kernel->attributes().static_shared;
  if (fixed > Limits::shared_per_block + machine::reserved_shared_bytes)
    refuse(
        cudaErrorInvalidValue, entry,
        fmt::format("{} bytes of shared memory are declared; {} is the most, and only dynamic shared memory "
                    "may be more",
                    fixed, Limits::shared_per_block));
  const std::uint32_t limit = dynamic_shared_limit(entry);
  if (dynamic_shared <= limit) return;
  const bool attribute_helps = dynamic_shared + std::uint64_t{fixed} <= shared_limits().per_block_optin;
  refuse(
      cudaErrorInvalidValue, entry,
      fmt::format("{} bytes of dynamic shared memory, more than the {} that are left beside the kernel's {} "
                  "static bytes{}",
                  dynamic_shared, limit, fixed,
                  attribute_helps
                      ? "; cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize allows more"
                      : ""));
}

void check_resident(const KernelEntry& entry, const machine::LaunchShape& shape) {
  const std::uint64_t resident =
      std::uint64_t(resident_blocks(entry, static_cast<int>(shape.block.count()), shape.dynamic_shared)) *
      Limits::multiprocessors;
  if (shape.grid.count() > resident)
    refuse(
        cudaErrorCooperativeLaunchTooLarge, entry,
        fmt::format(
            "a cooperative launch of {} blocks, but only {} of this kernel can be resident at the same time "
            "(cudaOccupancyMaxActiveBlocksPerMultiprocessor times the multiprocessors)",
            shape.grid.count(), resident));
}

cudaError_t error_of(machine::Fault::Kind kind) {
  using Kind = machine::Fault::Kind;
  switch (kind) {
  case Kind::out_of_bounds:
  case Kind::use_after_free:
  case Kind::peer_access:
  case Kind::peer_variable:
  case Kind::peer_pool:
    return cudaErrorIllegalAddress;
  case Kind::misaligned:
  case Kind::bulk_units:
    return cudaErrorMisalignedAddress;
  case Kind::assertion:
    return cudaErrorAssert;
  case Kind::barrier: // a GPU would wait forever
  case Kind::phase:
  case Kind::missing_bytes:
  case Kind::endless:
  case Kind::waiting:
  case Kind::too_slow:
  case Kind::interrupted:
    return cudaErrorLaunchTimeout;
  case Kind::unsupported:
    return cudaErrorNotSupported;
  case Kind::stack_overflow:
    return cudaErrorHardwareStackError;
  case Kind::invalid_instruction:
    return cudaErrorIllegalInstruction;
  case Kind::out_of_memory:
    return cudaErrorMemoryAllocation;
  case Kind::trap:
  case Kind::unpaired_arrival:
  case Kind::no_mbarrier:
  case Kind::more_arrivals:
  case Kind::warp_mask:
  case Kind::partial_warp:
    return cudaErrorLaunchFailure;
  }
  return cudaErrorUnknown;
}

std::string place(const machine::SourceLine& line) {
  return line.line ? fmt::format("{}:{}: ", line.file, line.line) : std::string();
}

void report_fault(const KernelEntry& kernel, const machine::Fault& fault) {
  if (!prints_mistakes()) return;
  say(fmt::format("{}{} [kernel {}]", place(fault.where), fault.message, readable_name(kernel)));
}

} // namespace

std::string readable_name(const KernelEntry& entry) {
  return machine::demangled(entry.name);
}

std::uint32_t dynamic_shared_limit(const KernelEntry& entry) {
  const std::uint32_t fixed = entry.kernel->attributes().static_shared;
  if (entry.dynamic_shared_limit != 0) return entry.dynamic_shared_limit;
  return fixed >= Limits::shared_per_block ? 0 : Limits::shared_per_block - fixed;
}

PreparedLaunch prepare(KernelEntry& entry, machine::LaunchShape shape, void* const* arguments) {
  settle_cluster(entry, shape);
  check_dimension(entry, "grid", shape.grid, Limits::grid);
  check_dimension(entry, "block", shape.block, Limits::block);
  check_threads(entry, shape.block);
  check_required(entry, shape.block);
  check_shared(entry, shape.dynamic_shared);
  if (shape.cluster.count() > 1 && resident_clusters(entry, shape) == 0)
    refuse(
        cudaErrorInvalidClusterSize, entry,
        fmt::format("a cluster of {} such blocks does not fit on the device (cudaOccupancyMaxActiveClusters)",
                    shape.cluster.count()));
  if (shape.cooperative) check_resident(entry, shape);

  static std::atomic<std::uint64_t> calls = 0;
  PreparedLaunch launch{&entry,  entry.of_device[static_cast<std::size_t>(current_device())],
                        shape,   std::vector<std::byte>(entry.kernel->parameter_bytes()),
                        ++calls, {}};
  const auto& parameters = entry.kernel->parameters();
  if (!parameters.empty() && !arguments)
    refuse(cudaErrorInvalidValue, entry, "the array of arguments is null");
  for (std::size_t i = 0; i < parameters.size(); ++i)
    std::memcpy(launch.parameters.data() + parameters[i].offset, arguments[i], parameters[i].size);
  return launch;
}

namespace {

// Asked only once, because the answer takes longer than a small launch.
unsigned cores() {
  static const unsigned count = std::max(1u, std::thread::hardware_concurrency());
  return count;
}

// Where the blocks of a cooperative launch meet (struct grid_workspace of
// cooperative_groups/details/driver_abi.h): a size, and a barrier that starts at 0. A device needs only one,
// because it runs one kernel at a time.
std::uint64_t fresh_grid_workspace(int device) {
  constexpr std::size_t bytes = 2 * sizeof(std::uint32_t);
  static void* workspaces[machine::most_devices] = {};
  void*& workspace = workspaces[device];
  if (!workspace)
    workspace =
        Runtime::get().memory.allocate(bytes, machine::MemoryKind::variable, "the grid's barrier", device);
  std::memset(workspace, 0, bytes);
  return reinterpret_cast<std::uint64_t>(workspace);
}

// The devices share the host's cores.
unsigned workers_per_device(const Runtime& runtime) {
  const unsigned all = runtime.options.workers ? runtime.options.workers.load() : cores();
  return std::max(1u, all / static_cast<unsigned>(runtime.memory.devices()));
}

} // namespace

namespace {

// Where the program's source launches it, "" if it was built without -g. On the thread that launches, and
// slow.
std::string place_of(const PreparedLaunch& launch) {
  const machine::SourceLine at =
      launch.place.line ? launch.place : line_of(ordering::frames_of_call(), readable_name(*launch.entry));
  return at.line ? fmt::format(", launched at {}", machine::file_and_line(at)) : "";
}

void limit_printing(const Options& of_all, machine::LaunchOptions& options) {
  options.print_limit = of_all.print_limit;
  const std::int64_t left = of_all.prints_left;
  if (left == no_print_limit) return;
  options.prints = left > 0;
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(left, 1));
  options.print_limit = options.print_limit == 0 ? most : std::min(options.print_limit, most);
}

// Launches on several devices may take a little more than is left.
void count_printed(Options& of_all, const machine::LaunchOptions& options, std::uint64_t lines) {
  if (lines == 0 || !options.prints || of_all.prints_left == no_print_limit) return;
  const auto printed = static_cast<std::int64_t>(std::min(lines, options.print_limit));
  const std::int64_t before = of_all.prints_left.fetch_sub(printed);
  if (before > 0 && before <= printed)
    std::fputs("(printf: what later launches print is left out; WARPFOLD_PRINT_LIMIT=0 shows all)\n", stdout);
}

// Whether the host may write what the kernel waits for.
bool may_wait_for_host(const PreparedLaunch& launch) {
  const Runtime& runtime = Runtime::get();
  return (runtime.memory.of_host() != 0 || runtime.registry.has_managed()) && machine::polls(*launch.kernel);
}

bool runs_in_both_orders(const PreparedLaunch& launch) {
  const Runtime& runtime = Runtime::get();
  const BothOrders wanted = runtime.options.both_orders;
  return (wanted == BothOrders::on || (wanted == BothOrders::waiting && machine::polls(*launch.kernel))) &&
         runtime.options.check_races && !runtime.provenance &&
         !may_wait_for_host(launch); // in the second run, it would wait again
}

cudaError_t run_unless_interrupted(const PreparedLaunch& launch, machine::DeviceRuntime& device_runtime) {
  Runtime& runtime = Runtime::get();
  machine::LaunchOptions options;
  const int device = launch.kernel->program().device();
  options.workers = workers_per_device(runtime);
  if (several_devices()) options.peers = &runtime.peers;
  options.textures = current_textures();
  options.device_runtime = &device_runtime;
  options.may_be_changed = [] { return has_shared_any() || (works_later() && !host_waits()); };
  options.step_limit = runtime.options.step_limit;
  options.stack_bytes = stack_limit();
  options.time_limit = std::chrono::milliseconds(runtime.options.time_limit.load());
  options.schedule = {.order = runtime.options.schedule,
                      .seed = runtime.options.schedule_seed,
                      .ends_only = runtime.options.ends_only};
  limit_printing(runtime.options, options);
  options.interrupt = &runtime.options.interrupted;
  options.complete = [&launch](machine::Fault& fault) {
    fault.launch = call_in_words(launch);
    fault.argument = argument_behind(fault, launch);
  };
  options.points_to_bytes = [&launch](std::int64_t at) { return points_to_bytes(launch, at); };
  std::lock_guard lock(runtime.launch_mutex[device]);
  if (runtime.options.interrupted) {
    set_sticky_error(cudaErrorLaunchTimeout);
    return cudaErrorLaunchTimeout;
  }
  const Timed timed(Doing::kernel, launch.entry->name);
  options.watcher = runtime.watcher();
  std::optional<Runtime::Touches> touches;
  if (!runtime.provenance && ordering::wants_touches())
    options.watcher = touches.emplace(runtime, options.watcher).watcher();
  ordering::is_kernel(readable_name(*launch.entry));
  ordering::launches_next(device);
  machine::LaunchShape shape = launch.shape;
  if (shape.cooperative) shape.grid_workspace = fresh_grid_workspace(device);
  std::vector<analysis::Hazard> in_other_order;
  if (runs_in_both_orders(launch)) {
    std::lock_guard alone(runtime.contents);
    const auto began = std::chrono::steady_clock::now();
    in_other_order = runtime.second_order.run(*launch.kernel, shape, launch.parameters, options);
    if (runtime.second_order.has_run()) runtime.recorder.add_launch_in_both_orders();
    using std::chrono::milliseconds;
    const auto took = std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - began);
    if (options.time_limit.count() != 0) // the limit is of both
      options.time_limit = std::max(options.time_limit - took, milliseconds(1));
  }
  const std::size_t known_hazards = runtime.recorder.hazard_count();
  analysis::Tracer::begins_next(launch.call);
  machine::LaunchRecord record = machine::launch(*launch.kernel, shape, launch.parameters, options);
  count_printed(runtime.options, options, record.printed);
  runtime.recorder.add_new(in_other_order);
  if (touches) ordering::touches(touches->take());
  if (runtime.recording) runtime.recorder.add(record);
  runtime.report_file.keep_up(false, [&] { return runtime.recorder.json(); });
  if (!record.fault && runtime.recorder.hazard_count() == known_hazards) return cudaSuccess;
  const std::string call = call_in_words(launch), call_and_place = call + place_of(launch);
  runtime.recorder.place_launch(call, call_and_place);
  if (!record.fault) return cudaSuccess;
  record.fault->launch = call_and_place;
  const bool was_checked =
      record.fault->was_reported && (runtime.options.check_races || runtime.options.check_initialisation);
  if (runtime.recording && !was_checked && !record.fault->follows)
    runtime.recorder.add(analysis::hazard_from(*record.fault));
  runtime.checks_go_on = was_checked;
  // Many programs abort at their first error, and then nothing runs at exit.
  if (runtime.report_file.wanted()) runtime.report_file.write(runtime.recorder.json());
  // What follows the first fault is only recorded; a host loop that does not end would print it forever.
  if (sticky_error() == cudaSuccess) report_fault(*launch.entry, *record.fault);
  const cudaError_t error = error_of(record.fault->kind);
  set_sticky_error(error);
  return error;
}

} // namespace

namespace {

// `tail`: what comes after it, the last first.
cudaError_t run(const PreparedLaunch& launch, std::vector<Work>& tail) {
  DeviceLaunches further(launch);
  const cudaError_t error = run_unless_interrupted(launch, further);
  stay_if_a_signal_ends_this_process();
  return error == cudaSuccess ? further.carry_out(tail) : error;
}

} // namespace

// A kernel may launch itself into its tail any number of times, so these are not nested.
cudaError_t run(const PreparedLaunch& launch) {
  std::vector<Work> tail;
  cudaError_t error = run(launch, tail);
  while (error == cudaSuccess && !tail.empty()) {
    const Work next = std::move(tail.back());
    tail.pop_back();
    const auto* const kernel = next.target<LaunchWork>();
    error = kernel ? run(kernel->launch, tail) : next();
  }
  return error;
}

namespace {

// Bad accesses did not happen, so whatever follows can be checked too. Its launch need not be valid, because
// a GPU would not launch it at all.
template <class Submitted>
bool goes_on_with(const Submitted& submitted) {
  try {
    submitted();
    return true;
  } catch (const std::exception&) {
    return false; // refused
  }
}

cudaError_t launch(const char* caller, const void* function, machine::LaunchShape shape, std::size_t shared,
                   void** arguments, cudaStream_t stream) {
  const auto submitted = [&] {
    if (!function)
      throw Refusal(cudaErrorInvalidDeviceFunction, "the kernel is null: an earlier look-up did not find it");
    KernelEntry& kernel = Runtime::get().registry.kernel(function);
    if (shared > UINT32_MAX)
      refuse(cudaErrorInvalidValue, kernel, fmt::format("{} bytes of dynamic shared memory", shared));
    shape.dynamic_shared = static_cast<std::uint32_t>(shared);
    const PreparedLaunch prepared = prepare(kernel, shape, arguments);
    return submit(stream, cudaGraphNodeTypeKernel, LaunchWork{prepared},
                  [&] { return may_wait_for_host(prepared) ? Returns::when_it_waits : Returns::early; });
  };
  // The program still sees the first error.
  if (sticky_error() != cudaSuccess && Runtime::get().checks_go_on) goes_on_with(submitted);
  return entry(caller, submitted);
}

// The launch inside <<<...>>>, whose result the program does not see.
cudaError_t launch_from_stub(const void* function, machine::LaunchShape shape, std::size_t shared,
                             void** arguments, cudaStream_t stream) {
  const bool faulted_before = sticky_error() != cudaSuccess;
  const cudaError_t error = launch("launch", function, shape, shared, arguments, stream);
  const bool faulted_now = sticky_error() != cudaSuccess; // that is a hazard of its own
  if (error != cudaSuccess && !faulted_before && !faulted_now) {
    const KernelEntry* kernel = function ? Runtime::get().registry.find_kernel(function) : nullptr;
    if (RefusedCall* const refused = refused_call(); refused && kernel && refused->function == "launch")
      refused->kernel = readable_name(*kernel);
    const std::string name = kernel ? readable_name(*kernel) : "";
    note_refused_launch(
        fmt::format("a launch of {} was refused: {}", kernel ? name : "a kernel", cudaGetErrorString(error)),
        name);
  }
  return error;
}

// The configuration from <<<...>>>, kept between the call of the kernel's stub and the launch inside it.
struct CallConfiguration {
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<CallConfiguration> call_configurations;

} // namespace
} // namespace warpfold::runtime

using namespace warpfold::runtime;

#pragma GCC visibility push(default)
extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
  call_configurations.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (call_configurations.empty()) return remember(cudaErrorMissingConfiguration);
  const CallConfiguration top = call_configurations.back();
  call_configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return launch_from_stub(kernel, {size_of(grid), size_of(block)}, shared, arguments, stream);
}
}
#pragma GCC visibility pop

extern "C" {

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return launch("cudaLaunchKernel", function, {size_of(grid), size_of(block)}, shared, arguments, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
  warpfold::machine::LaunchShape shape{size_of(grid), size_of(block)};
  shape.cooperative = true;
  return launch("cudaLaunchCooperativeKernel", function, shape, shared, arguments, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return entry("cudaLaunchKernelExC", [&] {
    if (!config) return cudaErrorInvalidValue;
    return launch("cudaLaunchKernelExC", function, shape_from(*config), config->dynamicSmemBytes, arguments,
                  config->stream);
  });
}
}
