#include "runtime/launches/device_launches.hpp"

#include "runtime/devices/devices.hpp"
#include "runtime/graphs/conditions.hpp"
#include "runtime/memory/memory_check.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace warpfold::runtime {
namespace {

using machine::DeviceCall;

constexpr std::uint64_t tail_stream = 3; // cudaStreamTailLaunch

// The device of a thread that runs a kernel is the kernel's.
class OnDevice {
public:
  explicit OnDevice(int device) : before_(current_device()) { set_current_device(device); }
  ~OnDevice() { set_current_device(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

private:
  int before_;
};

std::uint64_t in_device_memory(const std::string& label, std::string_view text, int device) {
  void* const place =
      Runtime::get().memory.allocate(text.size() + 1, machine::MemoryKind::variable, label, device);
  std::memcpy(place, text.data(), text.size());
  static_cast<char*>(place)[text.size()] = 0;
  note_written(place, text.size() + 1);
  return reinterpret_cast<std::uint64_t>(place);
}

template <class T>
std::uint64_t give(const DeviceCall& call, T value) {
  call.store(call.argument<std::uint64_t>(0), std::as_bytes(std::span(&value, 1)));
  return cudaSuccess;
}

} // namespace

// By the names in cuda_device_runtime_api.h, without the prefix; those that end with _ptsz do the same.
struct DeviceFunctions {
  using Function = std::uint64_t (*)(DeviceLaunches&, const DeviceCall&);
  struct Row {
    std::string_view name;
    Function function;
  };

  static std::uint64_t get_parameter_buffer(DeviceLaunches& launches, const DeviceCall& call) {
    const auto grid = call.argument<machine::Dim3>(1), block = call.argument<machine::Dim3>(2);
    const int device = launches.parent_.kernel->program().device();
    const OnDevice on(device);
    CodeModule* const module = launches.parent_.entry->module;
    const auto* const function = module->program().function_at(call.argument<std::uint64_t>(0));
    if (!function) return 0;
    KernelEntry& entry = Runtime::get().registry.kernel_named(module, function->name);
    void* const buffer = Runtime::get().memory.allocate(
        std::max(1u, entry.kernel->parameter_bytes()), machine::MemoryKind::variable,
        fmt::format("the arguments of {}", readable_name(entry)), device);
    const auto address = reinterpret_cast<std::uint64_t>(buffer);
    machine::LaunchShape shape{grid, block};
    shape.dynamic_shared = call.argument<std::uint32_t>(3);
    const std::lock_guard lock(launches.mutex_);
    launches.asked_[address] = {&entry, shape};
    return address;
  }
  static std::uint64_t launch(DeviceLaunches& launches, const DeviceCall& call) {
    return launches.launch(call, call.argument<std::uint64_t>(0), call.argument<std::uint64_t>(1));
  }
  static std::uint64_t copy(DeviceLaunches& launches, const DeviceCall& call) {
    auto* const to = call.argument<void*>(0);
    const auto* const from = call.argument<const void*>(1);
    const auto bytes = call.argument<std::size_t>(2);
    const auto kind = call.argument<cudaMemcpyKind>(3);
    launches.issue(call.argument<std::uint64_t>(4),
                   [=] { return cudaMemcpyAsync(to, from, bytes, kind, cudaStreamPerThread); });
    return cudaSuccess;
  }
  static std::uint64_t fill(DeviceLaunches& launches, const DeviceCall& call) {
    auto* const to = call.argument<void*>(0);
    const auto value = call.argument<int>(1);
    const auto bytes = call.argument<std::size_t>(2);
    launches.issue(call.argument<std::uint64_t>(3),
                   [=] { return cudaMemsetAsync(to, value, bytes, cudaStreamPerThread); });
    return cudaSuccess;
  }
  static std::uint64_t last_error(DeviceLaunches& launches, const DeviceCall& call) {
    const std::lock_guard lock(launches.mutex_);
    const auto found = launches.errors_.find(call.thread);
    return found == launches.errors_.end() ? cudaSuccess : std::exchange(found->second, cudaSuccess);
  }
  static std::uint64_t peek_at_last_error(DeviceLaunches& launches, const DeviceCall& call) {
    const std::lock_guard lock(launches.mutex_);
    const auto found = launches.errors_.find(call.thread);
    return found == launches.errors_.end() ? cudaSuccess : found->second;
  }
  template <const char* (*text_of)(cudaError_t)>
  static std::uint64_t text_of_error(DeviceLaunches& launches, const DeviceCall& call) {
    static std::map<std::pair<int, cudaError_t>, std::uint64_t> texts;
    static std::mutex mutex;
    const auto error = call.argument<cudaError_t>(0);
    const int device = launches.parent_.kernel->program().device();
    const std::lock_guard lock(mutex);
    std::uint64_t& place = texts[{device, error}];
    if (place == 0) place = in_device_memory("the text of an error", text_of(error), device);
    return place;
  }
  static std::uint64_t get_device(DeviceLaunches& launches, const DeviceCall& call) {
    return give(call, launches.parent_.kernel->program().device());
  }
  static std::uint64_t get_device_count(DeviceLaunches&, const DeviceCall& call) {
    return give(call, device_count());
  }
  static std::uint64_t get_attribute(DeviceLaunches&, const DeviceCall& call) {
    int value = 0;
    const cudaError_t error = cudaDeviceGetAttribute(
        &value, static_cast<cudaDeviceAttr>(call.argument<int>(1)), call.argument<int>(2));
    if (error != cudaSuccess) return error;
    return give(call, value);
  }
  static std::uint64_t get_version(DeviceLaunches&, const DeviceCall& call) {
    return give(call, CUDART_VERSION);
  }
  static std::uint64_t create(DeviceLaunches& launches, const DeviceCall& call) {
    const std::lock_guard lock(launches.mutex_);
    return give(call, launches.handles_++);
  }
  // Work is done in the order of issue, and that satisfies every event.
  static std::uint64_t nothing(DeviceLaunches&, const DeviceCall&) { return cudaSuccess; }
  static std::uint64_t set_conditional(DeviceLaunches&, const DeviceCall& call) {
    return set_condition(call.argument<cudaGraphConditionalHandle>(0), call.argument<unsigned>(1))
               ? cudaSuccess
               : cudaErrorInvalidValue;
  }

  static Function find(std::string_view name) {
    static constexpr Row rows[] = {{"DeviceGetAttribute", get_attribute},
                                   {"EventCreateWithFlags", create},
                                   {"EventDestroy", nothing},
                                   {"EventRecord", nothing},
                                   {"EventRecordWithFlags", nothing},
                                   {"GetDevice", get_device},
                                   {"GetDeviceCount", get_device_count},
                                   {"GetErrorName", text_of_error<cudaGetErrorName>},
                                   {"GetErrorString", text_of_error<cudaGetErrorString>},
                                   {"GetLastError", last_error},
                                   {"GetParameterBufferV2", get_parameter_buffer},
                                   {"LaunchDeviceV2", launch},
                                   {"MemcpyAsync", copy},
                                   {"MemsetAsync", fill},
                                   {"PeekAtLastError", peek_at_last_error},
                                   {"RuntimeGetVersion", get_version},
                                   {"StreamCreateWithFlags", create},
                                   {"StreamDestroy", nothing},
                                   {"StreamWaitEvent", nothing},
                                   {"cudaGraphSetConditional", set_conditional}};
    constexpr std::string_view prefix = "__cudaCDP2", suffix = "_ptsz";
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
    const auto* const found = std::ranges::find(rows, name, &Row::name);
    return found == std::end(rows) ? nullptr : found->function;
  }
};

DeviceLaunches::~DeviceLaunches() {
  for (const auto& [address, asked] : asked_) Runtime::get().memory.release(reinterpret_cast<void*>(address));
}

std::optional<std::uint64_t> DeviceLaunches::call(const DeviceCall& call) {
  const auto function = DeviceFunctions::find(call.function);
  if (!function) return std::nullopt;
  return function(*this, call);
}

void DeviceLaunches::issue(std::uint64_t stream, Work work) {
  const std::lock_guard lock(mutex_);
  (stream == tail_stream ? tail_ : work_).push_back(std::move(work));
}

std::uint64_t DeviceLaunches::launch(const DeviceCall& call, std::uint64_t arguments, std::uint64_t stream) {
  Asked asked{};
  {
    const std::lock_guard lock(mutex_);
    const auto found = asked_.find(arguments);
    if (found == asked_.end()) return cudaErrorInvalidValue;
    asked = found->second;
    asked_.erase(found);
  }
  const OnDevice on(parent_.kernel->program().device());
  const std::string place = call.where.line ? machine::file_and_line(call.where) + ": " : "";
  cudaError_t error = cudaSuccess;
  try {
    std::vector<void*> each;
    for (const machine::Parameter& parameter : asked.entry->kernel->parameters())
      each.push_back(reinterpret_cast<void*>(arguments + parameter.offset));
    PreparedLaunch child = prepare(*asked.entry, asked.shape, each.data());
    child.place = call.where;
    issue(stream, LaunchWork{std::move(child)});
  } catch (const Refusal& refusal) {
    error = refusal.code;
    const std::string message =
        fmt::format("a kernel's launch was refused: {}: {}", refusal.what(), cudaGetErrorString(error));
    if (prints_mistakes()) say(place + message);
    Runtime::get().recorder.add(
        {analysis::HazardKind::launch, analysis::HazardCause::refused_launch, message, call.where});
    const std::lock_guard lock(mutex_);
    errors_[call.thread] = error;
  }
  Runtime::get().memory.release(reinterpret_cast<void*>(arguments));
  return error;
}

cudaError_t DeviceLaunches::carry_out(std::vector<Work>& tail) {
  for (const Work& work : work_)
    if (const cudaError_t error = work(); error != cudaSuccess) return error;
  tail.insert(tail.end(), std::move_iterator(tail_.rbegin()), std::move_iterator(tail_.rend()));
  return cudaSuccess;
}

} // namespace warpfold::runtime
