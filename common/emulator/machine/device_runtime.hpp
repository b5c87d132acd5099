// CUDA's device runtime as kernels see it: functions that they call and that only the runtime can carry out,
// such as launches of further kernels (CUDA Programming Guide, "CUDA Dynamic Parallelism").
#pragma once

#include "machine.hpp"

#include <cstring>
#include <span>

namespace warpfold::machine {

// A thread's call of such a function.
struct DeviceCall {
  std::string_view function; // "__cudaCDP2LaunchDeviceV2"
  std::uint64_t thread = 0;  // the caller's number in the grid
  SourceLine where;
  std::vector<std::span<const std::byte>> arguments;
  // Stores `value` where one of the arguments points to.
  std::function<void(std::uint64_t address, std::span<const std::byte> value)> store;

  template <class T>
  T argument(std::size_t index) const {
    T value{};
    std::memcpy(&value, arguments.at(index).data(), std::min(sizeof value, arguments.at(index).size()));
    return value;
  }
};

// Any thread that runs a kernel may call it.
class DeviceRuntime {
public:
  virtual ~DeviceRuntime() = default;
  // What the call returns; nullopt: there is no such function.
  virtual std::optional<std::uint64_t> call(const DeviceCall& call) = 0;
};

// Whether it is such a function, by its name.
inline bool is_of_device_runtime(std::string_view function) {
  return function.starts_with("__cudaCDP2") || function == "cudaGraphSetConditional";
}

} // namespace warpfold::machine
