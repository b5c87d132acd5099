// Launches with clusters: which run, which are refused, and what the device and a kernel say of themselves.
// The codes are those of an H100.
#include "show.hpp"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void plain(int* ran) {
  atomicAdd(ran, 1);
}
__global__ void __cluster_dims__(4) of_four(int* ran) {
  atomicAdd(ran, 1);
}
__global__ void large(int* ran) {
  extern __shared__ int room[];
  room[threadIdx.x] = 1;
  atomicAdd(ran, room[threadIdx.x]);
}

// What a block is told of its cluster, in the order of its rows.
constexpr int registers = 14;
__global__ void tell(unsigned* out) {
  unsigned* mine = out + registers * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
  const cg::cluster_group cluster = cg::this_cluster();
  const dim3 at = cluster.block_index(), dims = cluster.dim_blocks();
  unsigned id[3], count[3], is_explicit;
  asm("mov.u32 %0, %%clusterid.x; mov.u32 %1, %%clusterid.y; mov.u32 %2, %%clusterid.z;"
      : "=r"(id[0]), "=r"(id[1]), "=r"(id[2]));
  asm("mov.u32 %0, %%nclusterid.x; mov.u32 %1, %%nclusterid.y; mov.u32 %2, %%nclusterid.z;"
      : "=r"(count[0]), "=r"(count[1]), "=r"(count[2]));
  asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(is_explicit));
  const unsigned told[registers] = {cluster.block_rank(),
                                    cluster.num_blocks(),
                                    at.x,
                                    at.y,
                                    at.z,
                                    dims.x,
                                    dims.y,
                                    dims.z,
                                    id[0],
                                    id[1],
                                    id[2],
                                    count[0],
                                    count[1],
                                    is_explicit};
  for (int i = 0; i < registers; ++i) mine[i] = told[i];
}

template <typename Kernel, typename Argument>
cudaError_t launch(Kernel kernel, dim3 grid, dim3 cluster, Argument* argument, size_t shared = 0) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid, config.blockDim = 1, config.dynamicSmemBytes = shared;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x, attribute.val.clusterDim.y = cluster.y,
  attribute.val.clusterDim.z = cluster.z;
  config.attrs = &attribute, config.numAttrs = 1;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, argument);
  cudaGetLastError();
  int clusters = -1, size = -1;
  const cudaError_t active = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
  const cudaError_t potential = cudaOccupancyMaxPotentialClusterSize(&size, kernel, &config);
  cudaGetLastError();
  std::printf("  active %d (%s), largest %d (%s)\n", clusters, cudaGetErrorName(active), size,
              cudaGetErrorName(potential));
  return error;
}

int attribute(cudaDeviceAttr which) {
  int value = -1;
  cudaDeviceGetAttribute(&value, which, 0);
  return value;
}

int main() {
  int* ran;
  unsigned* out;
  cudaMallocManaged(&ran, sizeof(int));
  cudaMallocManaged(&out, 4096 * sizeof(unsigned));
  *ran = 0;
  SHOW_VALUE(attribute(cudaDevAttrClusterLaunch));
  SHOW_VALUE(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  SHOW_VALUE(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  SHOW(launch(plain, 4, {1, 1, 1}, ran));
  SHOW(launch(plain, 4, {0, 0, 0}, ran));
  SHOW(launch(plain, 6, {3, 1, 1}, ran));
  SHOW(launch(plain, {4, 6, 4}, {2, 2, 2}, ran));
  SHOW(launch(plain, 6, {4, 1, 1}, ran));
  SHOW(launch(plain, 4, {1, 2, 1}, ran));
  SHOW(launch(plain, 16, {16, 1, 1}, ran));
  SHOW(cudaFuncSetAttribute(plain, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  SHOW(launch(plain, 16, {16, 1, 1}, ran));
  SHOW(launch(plain, 32, {32, 1, 1}, ran));
  SHOW(launch(of_four, 8, {4, 1, 1}, ran));
  SHOW(launch(of_four, 8, {2, 1, 1}, ran));
  of_four<<<8, 1>>>(ran);
  SHOW(cudaGetLastError());
  of_four<<<6, 1>>>(ran);
  SHOW(cudaGetLastError());
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(*ran);

  SHOW(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449));
  SHOW(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448));
  SHOW(launch(large, 16, {8, 1, 1}, ran, 232448));
  cudaFuncAttributes facts;
  cudaFuncGetAttributes(&facts, of_four);
  SHOW_VALUE(facts.requiredClusterWidth);
  SHOW_VALUE(facts.clusterDimMustBeSet);
  SHOW_VALUE(facts.nonPortableClusterSizeAllowed);

  SHOW(launch(tell, {4, 4, 2}, {2, 1, 2}, out));
  SHOW(cudaDeviceSynchronize());
  for (int block : {0, 1, 7, 18}) {
    std::printf("block %d:", block);
    for (int i = 0; i < registers; ++i) std::printf(" %u", out[block * registers + i]);
    std::printf("\n");
  }
  tell<<<2, 1>>>(out);
  cudaDeviceSynchronize();
  std::printf("block 1 without clusters:");
  for (int i = 0; i < registers; ++i) std::printf(" %u", out[registers + i]);
  std::printf("\n");
}
