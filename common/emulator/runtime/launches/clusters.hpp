// Thread block clusters: what a launch and its kernel ask for, and what the device allows.
#pragma once

#include "runtime/cuda_api.hpp"
#include "runtime/launches/launch.hpp"

namespace warpfold::runtime {

machine::Dim3 size_of(dim3 size);
machine::LaunchShape shape_from(const cudaLaunchConfig_t& config);

// Gives the shape the cluster of the kernel (__cluster_dims__) if the launch gives none, and refuses what a
// GPU refuses, all of it with cudaErrorInvalidClusterSize (as measured on an H100). The grid's blocks become
// those of the clusters where the grid counts clusters (.blocksareclusters).
void settle_cluster(KernelEntry& entry, machine::LaunchShape& shape);

// How many clusters of the shape can be resident on the device at the same time.
int resident_clusters(const KernelEntry& entry, const machine::LaunchShape& shape);

// Whether the device runs clusters: from compute capability 9.0 on.
bool has_clusters();

// Shared memory of the device, in bytes: what a block may have with
// cudaFuncAttributeMaxDynamicSharedMemorySize, what a multiprocessor has, and what of it the system takes for
// each block (CUDA Programming Guide, "Compute Capabilities").
struct SharedLimits {
  std::uint32_t per_block_optin, per_multiprocessor, reserved_per_block;
};
SharedLimits shared_limits();

} // namespace warpfold::runtime
