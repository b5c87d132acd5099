// Instructions of newer GPUs that a lab uses and CUDA C++ has only long names for: clusters of blocks and
// bulk asynchronous copies (compute capability 9.0), and matrix multiplications (8.0). On older GPUs the lab
// skips the rungs that use them.
//
// CUDA's own names for the same: cooperative_groups::cluster_group, cuda::barrier, cuda::ptx::cp_async_bulk.
#pragma once

#include "lab.hpp"

#include <cuda_runtime.h>

// The compiler makes code for older GPUs too, where these instructions do not exist and no rung gets here.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define WARPFOLD_PTX_90(...) __trap()
#else
#define WARPFOLD_PTX_90(...) asm volatile(__VA_ARGS__)
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define WARPFOLD_PTX_80(...) __trap()
#else
#define WARPFOLD_PTX_80(...) asm volatile(__VA_ARGS__)
#endif

namespace lab {

// ---- clusters (PTX ISA 9.7.13.4, 9.7.9.22) --------------------------------------------------------------

// Launches `clusters` clusters of `blocks` blocks of `threads` threads, which run at the same time.
template <class... Parameters, class... Given>
void launch_clusters(void (*kernel)(Parameters...), std::size_t clusters, unsigned blocks, unsigned threads,
                     Given... given) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {blocks, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(clusters * blocks)), config.blockDim = dim3(threads);
  config.attrs = &cluster, config.numAttrs = 1;
  // More than 8 blocks: not on every GPU that has clusters.
  cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(given)...);
}

// This block's number in its cluster, and how many blocks that has.
__device__ inline unsigned cluster_rank() {
  unsigned rank = 0;
  WARPFOLD_PTX_90("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline unsigned cluster_blocks() {
  unsigned count = 1;
  WARPFOLD_PTX_90("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  return count;
}

// A barrier of all threads of the cluster, in two halves: what a thread wrote before it arrived is visible to
// each thread that has waited.
__device__ inline void cluster_arrive() {
  WARPFOLD_PTX_90("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  WARPFOLD_PTX_90("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

// The same variable in the shared memory of another block of the cluster.
template <class T>
__device__ T* in_block(T* shared, unsigned rank) {
  T* there = shared;
  WARPFOLD_PTX_90("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
  return there;
}

// ---- bulk asynchronous copies (PTX ISA 9.7.9.25.5, 9.7.13.15) --------------------------------------------

__device__ inline unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// A barrier in shared memory that counts the bytes of copies. Its phases follow one another: a phase is over
// when the bytes that were announced have arrived. The first one has parity 0, the second 1, and so on.
struct Arrival {
  unsigned long long state;

  // By one thread, once; then __syncthreads().
  __device__ void init() {
    WARPFOLD_PTX_90("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
                    "fence.mbarrier_init.release.cluster;" ::"r"(shared_address(this))
                    : "memory");
  }
  // By one thread, once in each phase, before the copies.
  __device__ void expect(unsigned bytes) {
    WARPFOLD_PTX_90("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(this)),
                    "r"(bytes)
                    : "memory");
  }
  // By all threads that read what was copied.
  __device__ void wait(unsigned parity) {
    unsigned is_over = 0;
    while (!is_over) { // NOLINT(bugprone-infinite-loop): the assembly sets it
      WARPFOLD_PTX_90("{\n\t.reg .pred p;\n\t"
                      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                      "selp.u32 %0, 1, 0, p;\n\t}"
                      : "=r"(is_over)
                      : "r"(shared_address(this)), "r"(parity)
                      : "memory");
    }
  }
};

// Copies `bytes` bytes, a multiple of 16 at addresses that are, from global to shared memory. Goes on until
// the phase of `arrival` is over.
__device__ inline void bulk_load(void* shared, const void* global, unsigned bytes, Arrival& arrival) {
  WARPFOLD_PTX_90(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(shared)),
      "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(&arrival))
      : "memory");
}

// What this thread wrote to shared memory, and what it knows of others' writes, comes before the bulk copies
// that follow.
__device__ inline void fence_for_bulk_copies() {
  WARPFOLD_PTX_90("fence.proxy.async.shared::cta;" ::: "memory");
}

// The other way. Each such copy is a group, which the same thread waits for.
__device__ inline void bulk_store(void* global, const void* shared, unsigned bytes) {
  WARPFOLD_PTX_90("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\t"
                  "cp.async.bulk.commit_group;" ::"l"(__cvta_generic_to_global(global)),
                  "r"(shared_address(shared)), "r"(bytes)
                  : "memory");
}

// Waits until all but the last `left` of this thread's bulk stores have read shared memory.
template <int left>
__device__ void wait_until_stored_but() {
  WARPFOLD_PTX_90("cp.async.bulk.wait_group.read %0;" ::"n"(left) : "memory");
}

// ---- of compute capability 8.0 ----------------------------------------------------------------------------

// The larger of two numbers; NaN if one of them is (PTX ISA, "max").
__device__ inline float larger_or_nan(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return a > b || a != a ? a : b;
#else
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
#endif
}

// Multiplies a matrix of 16 x 16 bfloat16, of which each lane of the warp gives eight, by one of 16 x 8 ones,
// and adds the product to `sums` (PTX ISA, "mma"). Lane l gives elements of rows l / 4 (in .x and .z) and
// l / 4 + 8 (in .y and .w), whose sums it then has in sums[0] and sums[2].
__device__ inline void add_row_sums(float (&sums)[4], uint4 elements) {
  WARPFOLD_PTX_80("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                  "{%8, %8}, {%0, %1, %2, %3};"
                  : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                  : "r"(elements.x), "r"(elements.y), "r"(elements.z), "r"(elements.w),
                    "r"(0x3f803f80)); // two ones
}

} // namespace lab

#undef WARPFOLD_PTX_90
#undef WARPFOLD_PTX_80
