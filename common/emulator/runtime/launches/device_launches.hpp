// Dynamic parallelism: what a kernel launches, and what else it asks of the device runtime (CUDA Programming
// Guide, "CUDA Dynamic Parallelism").
#pragma once

#include "machine/device_runtime.hpp"
#include "runtime/launches/launch.hpp"
#include "runtime/streams/streams.hpp"

#include <map>
#include <mutex>

namespace warpfold::runtime {

// The work that the threads of one launch issue. It is done when the launch has ended, in the order of issue,
// and that of the tail stream last: CUDA promises a parent nothing about how far it has come before.
class DeviceLaunches : public machine::DeviceRuntime {
public:
  explicit DeviceLaunches(const PreparedLaunch& parent) : parent_(parent) {}
  ~DeviceLaunches() override;

  std::optional<std::uint64_t> call(const machine::DeviceCall& call) override;
  // Adds to `tail` what comes after all that, the last first.
  cudaError_t carry_out(std::vector<Work>& tail);

private:
  friend struct DeviceFunctions;
  struct Asked { // for a launch, whose arguments the kernel writes before it launches
    KernelEntry* entry;
    machine::LaunchShape shape;
  };
  const PreparedLaunch& parent_;
  std::mutex mutex_;
  std::map<std::uint64_t, Asked> asked_;        // by the address of the arguments
  std::map<std::uint64_t, cudaError_t> errors_; // by thread: its last one
  std::vector<Work> work_, tail_;
  std::uint64_t handles_ = 0x100; // of streams and events; lower numbers are CUDA's own streams

  std::uint64_t launch(const machine::DeviceCall& call, std::uint64_t arguments, std::uint64_t stream);
  void issue(std::uint64_t stream, Work work);
};

} // namespace warpfold::runtime
