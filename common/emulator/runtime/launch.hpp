// Starting kernels.
#pragma once

#include "registration.hpp"

#include <cstddef>
#include <vector>

namespace warpfold::runtime {

// A launch that has been checked and has its arguments copied, ready to run any number of times.
struct PreparedLaunch {
  KernelEntry* entry = nullptr;
  machine::LaunchShape shape;
  std::vector<std::byte> parameters;
};

// The kernel's name as its source has it: "sum<int>(int const*, int)" for _Z3sumIiEvPKi.
std::string readable_name(const KernelEntry& entry);

// Checks the shape against the limits and copies the arguments. Throws Refusal with the limit that is broken.
PreparedLaunch prepare(KernelEntry& entry, machine::LaunchShape shape, void* const* arguments);

// Runs it, records it, and makes a fault the process's sticky error.
cudaError_t run(const PreparedLaunch& launch);

// Blocks of the kernel that fit one multiprocessor at a time; 0 where not even one does.
int resident_blocks(const KernelEntry& entry, int threads, std::size_t dynamic_shared);

// Bytes of dynamic shared memory that a launch of the kernel may ask for.
std::uint32_t dynamic_shared_limit(const KernelEntry& entry);

} // namespace warpfold::runtime
