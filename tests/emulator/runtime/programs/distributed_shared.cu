// Each way to reach the shared memory of another block of the cluster, and the cluster's barrier.
#include "show.hpp"

#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

constexpr int threads = 32, blocks = 4;

__device__ unsigned at(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}
__device__ unsigned mapped(const void* shared, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(shared)), "r"(rank));
  return there;
}

// Loads, stores, vectors and atomics in .shared::cluster: each block works on the next one's memory.
__global__ void __cluster_dims__(blocks) explicit_space(int* out) {
  __shared__ alignas(16) int values[4 * threads];
  __shared__ int count;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), next = (rank + 1) % blocks, i = threadIdx.x;
  if (i == 0) count = 0;
  cluster.sync();
  const unsigned there = mapped(values + 4 * i, next);
  asm volatile("st.shared::cluster.v4.s32 [%0], {%1, %2, %3, %4};" ::"r"(there), "r"(rank), "r"(i), "r"(7),
               "r"(8)
               : "memory");
  int x, y, old;
  asm volatile("ld.shared::cluster.v2.s32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(there) : "memory");
  asm volatile("atom.shared::cluster.add.s32 %0, [%1], 1;"
               : "=r"(old)
               : "r"(mapped(&count, next))
               : "memory");
  asm volatile("red.relaxed.cluster.shared::cluster.add.s32 [%0], 2;" ::"r"(mapped(&count, next)) : "memory");
  asm volatile("st.shared::cluster.u8 [%0 + 8], 255;" ::"r"(there) : "memory");
  cluster.sync();
  const int sum = values[4 * i] * 1000 + values[4 * i + 1] + values[4 * i + 2] + values[4 * i + 3];
  out[(blockIdx.x * threads + i) * 3] = sum;
  out[(blockIdx.x * threads + i) * 3 + 1] = x * 100 + y;
  out[(blockIdx.x * threads + i) * 3 + 2] = count + (old < 0);
}

// The same through generic addresses. Each lane reads another block, its own among them.
__global__ void __cluster_dims__(blocks) generic(int* out) {
  __shared__ int values[threads];
  __shared__ unsigned long long total;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), i = threadIdx.x;
  values[i] = rank * 100 + i;
  if (i == 0) total = 0;
  cluster.sync();
  const int* there = cluster.map_shared_rank(values, i % blocks);
  const int value = there[i];
  const unsigned where = cluster.query_shared_rank(there);
  atomicAdd(cluster.map_shared_rank(&total, 0), 1ull << 33 | value);
  const bool own = __isShared(there);
  unsigned in_cluster;
  asm("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }"
      : "=r"(in_cluster)
      : "l"(there));
  cluster.sync();
  out[(blockIdx.x * threads + i) * 3] = value;
  out[(blockIdx.x * threads + i) * 3 + 1] = where * 100 + own * 10 + in_cluster;
  out[(blockIdx.x * threads + i) * 3 + 2] = static_cast<int>(total) + static_cast<int>(total >> 33);
}

__device__ void init(std::uint64_t* barrier, unsigned count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(barrier)), "r"(count) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void expect(std::uint64_t* barrier, unsigned bytes) {
  asm volatile(
      "{ .reg .b64 token; mbarrier.arrive.expect_tx.release.cluster.shared::cta.b64 token, [%0], %1; }" ::"r"(
          at(barrier)),
      "r"(bytes)
      : "memory");
}
__device__ void wait(std::uint64_t* barrier, unsigned parity) {
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; "
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(at(barrier)), "r"(parity)
                 : "memory");
}

// st.async and red.async write to the next block, which waits at its own mbarrier for the bytes.
__global__ void __cluster_dims__(blocks) asynchronous(int* out) {
  __shared__ alignas(16) int values[4 * threads];
  __shared__ int sum;
  __shared__ std::uint64_t barrier;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), next = (rank + 1) % blocks, i = threadIdx.x;
  if (i == 0) sum = 0, init(&barrier, 1), expect(&barrier, threads * 20);
  cluster.sync();
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
          mapped(values + 4 * i, next)),
      "r"(rank), "r"(i), "r"(3), "r"(4), "r"(mapped(&barrier, next))
      : "memory");
  asm volatile(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%0], %1, [%2];" ::"r"(
          mapped(&sum, next)),
      "r"(i), "r"(mapped(&barrier, next))
      : "memory");
  wait(&barrier, 0);
  out[(blockIdx.x * threads + i) * 3] = values[4 * i] * 1000 + values[4 * i + 1] + values[4 * i + 2];
  out[(blockIdx.x * threads + i) * 3 + 1] = values[4 * i + 3];
  out[(blockIdx.x * threads + i) * 3 + 2] = sum;
  cluster.sync();
}

// Bulk copies: to the next block from shared memory, to two blocks from global memory; and arrivals at
// another block's mbarrier, which rank 0 waits for.
__global__ void __cluster_dims__(blocks) bulk(const int* in, int* out) {
  __shared__ alignas(16) int from[threads], to[threads], cast[threads];
  __shared__ std::uint64_t full, arrived;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), next = (rank + 1) % blocks, i = threadIdx.x;
  from[i] = rank * 100 + i;
  cast[i] = -1;
  if (i == 0)
    init(&full, 1), init(&arrived, blocks * threads),
        expect(&full, threads * 4 * (rank == 1 || rank == 3 ? 2 : 1));
  cluster.sync();
  if (i == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            mapped(to, next)),
        "r"(at(from)), "r"(threads * 4), "r"(mapped(&full, next))
        : "memory");
  if (i == 0 && rank == 2)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                 "[%1], %2, [%3], %4;" ::"r"(at(cast)),
                 "l"(in), "r"(threads * 4), "r"(at(&full)), "h"(static_cast<unsigned short>(0b1010))
                 : "memory");
  wait(&full, 0);
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(&arrived, 0))
               : "memory");
  if (rank == 0) wait(&arrived, 0);
  out[(blockIdx.x * threads + i) * 3] = to[i];
  out[(blockIdx.x * threads + i) * 3 + 1] = cast[i];
  out[(blockIdx.x * threads + i) * 3 + 2] = 0;
  cluster.sync();
}

// The two halves of the barrier: what is between them need not wait. Threads that have exited are not waited
// for.
__global__ void __cluster_dims__(blocks) split(int* out) {
  __shared__ int value;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  if (threadIdx.x > rank) return;
  if (threadIdx.x == 0) value = rank + 1;
  for (int round = 0; round < 3; ++round) {
    auto token = cluster.barrier_arrive();
    int own = 0;
    for (int i = 0; i < static_cast<int>(rank) * 100; ++i) own += i;
    cluster.barrier_wait(std::move(token));
    int all = 0;
    for (int i = 0; i < blocks; ++i) all = all * 10 + *cluster.map_shared_rank(&value, i);
    cluster.sync();
    if (threadIdx.x == 0)
      value += 1, out[(blockIdx.x * threads + round) * 3] = all,
                                                       out[(blockIdx.x * threads + round) * 3 + 1] = own;
    cluster.sync();
  }
}

int *in, *out;

void show(const char* name) {
  std::printf("%s: %s\n", name, cudaGetErrorName(cudaDeviceSynchronize()));
  for (int block : {0, 3, 5}) {
    for (int i : {0, 1, 2, 31}) {
      const int* row = out + (block * threads + i) * 3;
      std::printf("  %d %d %d", row[0], row[1], row[2]);
    }
    std::printf("\n");
  }
  cudaMemset(out, 0, 3 * 2 * blocks * threads * sizeof(int));
}

int main() {
  cudaMallocManaged(&in, threads * sizeof(int));
  cudaMallocManaged(&out, 3 * 2 * blocks * threads * sizeof(int));
  for (int i = 0; i < threads; ++i) in[i] = 1000 + i;
  cudaMemset(out, 0, 3 * 2 * blocks * threads * sizeof(int));
  explicit_space<<<2 * blocks, threads>>>(out);
  show("explicit_space");
  generic<<<2 * blocks, threads>>>(out);
  show("generic");
  asynchronous<<<2 * blocks, threads>>>(out);
  show("asynchronous");
  bulk<<<2 * blocks, threads>>>(in, out);
  show("bulk");
  split<<<2 * blocks, threads>>>(out);
  show("split");
}
