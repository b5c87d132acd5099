#include "runtime/launches/clusters.hpp"

#include "machine/cluster.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::runtime {

using machine::Dim3;
using machine::Limits;

namespace {

constexpr int first_with_clusters = 90;

[[noreturn]] void refuse(const KernelEntry& entry, const std::string& what) {
  throw Refusal(cudaErrorInvalidClusterSize, fmt::format("{}: {}", readable_name(entry), what));
}

bool are_equal(const Dim3& one, const Dim3& other) {
  return one.x == other.x && one.y == other.y && one.z == other.z;
}

void check_size(const KernelEntry& entry, const Dim3& cluster) {
  const std::uint64_t blocks = cluster.count();
  if (blocks > machine::most_blocks_in_cluster)
    refuse(entry, fmt::format("the cluster {} has {} blocks; the device runs {} at most", text(cluster),
                              blocks, machine::most_blocks_in_cluster));
  if (blocks > machine::portable_blocks_in_cluster && !entry.allows_large_clusters)
    refuse(entry,
           fmt::format("the cluster {} has {} blocks: more than {} need cudaFuncSetAttribute with "
                       "cudaFuncAttributeNonPortableClusterSizeAllowed, because not every GPU runs them",
                       text(cluster), blocks, machine::portable_blocks_in_cluster));
}

} // namespace

bool has_clusters() {
  return Runtime::get().registry.capability() >= first_with_clusters;
}

SharedLimits shared_limits() {
  if (!has_clusters()) return {Limits::shared_per_block_optin, Limits::shared_per_block_optin, 0};
  return {227 * 1024, 228 * 1024, 1024};
}

void settle_cluster(KernelEntry& entry, machine::LaunchShape& shape) {
  const std::uint32_t(&required)[3] = entry.function->cluster;
  const bool is_required = required[0] != 0;
  const Dim3 wanted{required[0], required[1], required[2]};
  if (shape.cluster.count() == 0)
    shape.cluster = {}, shape.explicit_cluster = false; // as on a GPU: none is given
  if (is_required && shape.explicit_cluster && !are_equal(wanted, shape.cluster))
    refuse(entry, fmt::format("the launch gives clusters of {} blocks, but the kernel is compiled for {} "
                              "(__cluster_dims__): give it the same, or none",
                              text(shape.cluster), text(wanted)));
  if (is_required) shape.cluster = wanted;
  shape.explicit_cluster |= is_required || entry.function->explicit_cluster;
  if (is_required && entry.function->blocks_are_clusters)
    shape.grid = {shape.grid.x * wanted.x, shape.grid.y * wanted.y, shape.grid.z * wanted.z};
  const Dim3 &cluster = shape.cluster, &grid = shape.grid;
  if (cluster.count() == 1) return;
  if (!has_clusters())
    throw Refusal(
        cudaErrorNotSupported,
        fmt::format("{}: the launch has clusters of {} blocks, which devices run from compute capability 9.0 "
                    "on: compile for it (nvcc -arch=compute_90)",
                    readable_name(entry), cluster.count()));
  check_size(entry, cluster);
  if (grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
    refuse(entry,
           fmt::format(
               "the grid {} does not divide into clusters of {} blocks: round each dimension of the grid "
               "up to a multiple of the cluster's",
               text(grid), text(cluster)));
}

machine::Dim3 size_of(dim3 size) {
  return {size.x, size.y, size.z};
}

machine::LaunchShape shape_from(const cudaLaunchConfig_t& config) {
  machine::LaunchShape shape{size_of(config.gridDim), size_of(config.blockDim)};
  shape.dynamic_shared =
      static_cast<std::uint32_t>(std::min<std::size_t>(config.dynamicSmemBytes, UINT32_MAX));
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) shape.cooperative = attribute.val.cooperative != 0;
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      const auto& given = attribute.val.clusterDim;
      shape.cluster = {given.x, given.y, given.z};
      shape.explicit_cluster = true;
    }
  }
  return shape;
}

// All multiprocessors count as one group that clusters may spread over (a GPC of a GPU).
int resident_clusters(const KernelEntry& entry, const machine::LaunchShape& shape) {
  const auto blocks = static_cast<std::uint64_t>(resident_blocks(entry, static_cast<int>(shape.block.count()),
                                                                 shape.dynamic_shared)) *
                      Limits::multiprocessors;
  return static_cast<int>(blocks / shape.cluster.count());
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  return entry("cudaOccupancyMaxActiveClusters", [&] {
    if (!clusters || !config) return cudaErrorInvalidValue;
    KernelEntry& kernel = Runtime::get().registry.kernel(function);
    warpfold::machine::LaunchShape shape = shape_from(*config);
    settle_cluster(kernel, shape);
    *clusters = shape.explicit_cluster ? resident_clusters(kernel, shape)
                                       : 0; // as a GPU's runtime: 0 without clusters
    return cudaSuccess;
  });
}

// The largest cluster of which one fits on the device.
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                 const cudaLaunchConfig_t* config) {
  return entry("cudaOccupancyMaxPotentialClusterSize", [&] {
    if (!size || !config) return cudaErrorInvalidValue;
    KernelEntry& kernel = Runtime::get().registry.kernel(function);
    warpfold::machine::LaunchShape shape = shape_from(*config);
    settle_cluster(kernel, shape);
    const std::uint32_t allowed = kernel.allows_large_clusters
                                      ? warpfold::machine::most_blocks_in_cluster
                                      : warpfold::machine::portable_blocks_in_cluster;
    shape.cluster = {};
    const auto fitting = static_cast<std::uint32_t>(resident_clusters(kernel, shape));
    *size = static_cast<int>(has_clusters() ? std::min(allowed, fitting) : 1);
    return cudaSuccess;
  });
}
}
