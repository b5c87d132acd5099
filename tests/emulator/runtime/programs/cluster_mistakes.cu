// Mistakes in clusters that end a launch; test_cluster_mistakes.py says what must be reported about each.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>

namespace cg = cooperative_groups;

constexpr int size = 4;

__global__ void __cluster_dims__(size) rank_outside(int* out) {
  __shared__ int values[32];
  values[threadIdx.x] = 0;
  cg::this_cluster().sync();
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, 5;"
      : "=r"(there)
      : "r"(static_cast<unsigned>(__cvta_generic_to_shared(values + threadIdx.x))));
  int value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory"); // rank_outside
  out[threadIdx.x] = value;
}

__global__ void rank_without_clusters(int* out) {
  __shared__ int value;
  value = 1;
  out[threadIdx.x] = *cg::this_cluster().map_shared_rank(&value, 1); // rank_without_clusters
}

__global__ void __cluster_dims__(size) beyond_the_end(int* out) {
  __shared__ int values[32];
  values[threadIdx.x] = 0;
  const auto cluster = cg::this_cluster();
  cluster.sync();
  out[threadIdx.x] = cluster.map_shared_rank(values, 1)[threadIdx.x + 4096]; // beyond_the_end
  cluster.sync();
}

__global__ void __cluster_dims__(size) local_by_rank(int* out) {
  int value = threadIdx.x;
  const auto cluster = cg::this_cluster();
  cluster.sync();
  out[threadIdx.x] = *cluster.map_shared_rank(&value, 1); // local_by_rank
  cluster.sync();
}

// Thread 0 of block 0 waits for its block, and all others wait for it.
__global__ void __cluster_dims__(size) left_behind(int* out) {
  const auto cluster = cg::this_cluster();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) __syncthreads(); // left_behind
  cluster.sync();                                                     // the others
  out[threadIdx.x] = 0;
}

__global__ void __cluster_dims__(size) arrives_twice(int* out) {
  asm volatile("barrier.cluster.arrive;" ::: "memory");
  asm volatile("barrier.cluster.arrive;" ::: "memory"); // arrives_twice
  asm volatile("barrier.cluster.wait;" ::: "memory");
  out[threadIdx.x] = 0;
}

__global__ void __cluster_dims__(size) never_arrives(int* out) {
  asm volatile("barrier.cluster.wait;" ::: "memory"); // never_arrives
  out[threadIdx.x] = 0;
}

// Block 1 spins on a flag that nobody sets, and the others wait for it.
__global__ void __cluster_dims__(size) waits_for_a_flag(int* out) {
  const auto cluster = cg::this_cluster();
  if (cluster.block_rank() == 1)
    while (*static_cast<volatile int*>(out) == 0) { // waits_for_a_flag
    }
  cluster.sync();
}

#define TRY_WAIT "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"

// Block 1 waits for an arrival at its mbarrier that no block makes, and the others wait for it.
__global__ void __cluster_dims__(size) waits_for_an_arrival(int* out) {
  __shared__ unsigned long long barrier;
  const auto cluster = cg::this_cluster();
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 3;" ::"r"(at) : "memory");
  cluster.sync();
  unsigned done = cluster.block_rank() != 1;
  while (!done) asm volatile(TRY_WAIT : "=r"(done) : "r"(at) : "memory"); // waits_for_an_arrival
  cluster.sync();
  out[threadIdx.x] = 0;
}

int main(int, char** words) {
  int* out;
  cudaMalloc(&out, 4096);
  cudaMemset(out, 0, 4096);
  const auto is = [&](const char* name) { return std::strcmp(words[1], name) == 0; };
  if (is("rank_outside")) rank_outside<<<size, 32>>>(out);
  if (is("rank_without_clusters")) rank_without_clusters<<<2, 1>>>(out);
  if (is("beyond_the_end")) beyond_the_end<<<size, 32>>>(out);
  if (is("local_by_rank")) local_by_rank<<<size, 32>>>(out);
  if (is("left_behind")) left_behind<<<size, 64>>>(out);
  if (is("arrives_twice")) arrives_twice<<<size, 32>>>(out);
  if (is("never_arrives")) never_arrives<<<size, 32>>>(out);
  if (is("waits_for_a_flag")) waits_for_a_flag<<<size, 32>>>(out);
  if (is("waits_for_an_arrival")) waits_for_an_arrival<<<size, 32>>>(out);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
