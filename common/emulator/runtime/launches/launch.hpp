// Starting kernels.
#pragma once

#include "runtime/code/registration.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpfold::runtime {

// A launch that has been checked and has its arguments copied, ready to run any number of times.
struct PreparedLaunch {
  KernelEntry* entry = nullptr;
  machine::Kernel* kernel = nullptr; // of the device that it was issued to
  machine::LaunchShape shape;
  std::vector<std::byte> parameters;
  std::uint64_t call = 0;         // its number, counted over all devices
  machine::SourceLine place = {}; // of the launch, if a kernel launched it
};

// The kernel's name as in its source: "sum<int>(int const*, int)" for _Z3sumIiEvPKi.
std::string readable_name(const KernelEntry& entry);

std::string text(const machine::Dim3& size); // "(256, 1, 1)"

// Checks the shape against the limits and copies the arguments. Throws Refusal with the limit that is
// exceeded.
PreparedLaunch prepare(KernelEntry& entry, machine::LaunchShape shape, void* const* arguments);

// Runs the launch and what its kernel launches, records it, and turns a fault into the process's sticky
// error.
cudaError_t run(const PreparedLaunch& launch);

// A launch as work of a stream or a graph.
struct LaunchWork {
  PreparedLaunch launch;
  cudaError_t operator()() const { return run(launch); }
};

// How many blocks of the kernel fit on one multiprocessor at a time; 0 if not even one does.
int resident_blocks(const KernelEntry& entry, int threads, std::size_t dynamic_shared);

// Bytes of dynamic shared memory that a launch of the kernel may ask for.
std::uint32_t dynamic_shared_limit(const KernelEntry& entry);

} // namespace warpfold::runtime
