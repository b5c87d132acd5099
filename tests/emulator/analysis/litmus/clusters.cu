// Blocks of a cluster: their barrier, their shared memory, and how long it is there.
#include "litmus.cuh"

#include <cstdint>

constexpr int size = 4; // blocks of a cluster

// LITMUS read_after_sync: right
__global__ void __cluster_dims__(size) read_after_sync(int* m) {
  __shared__ int values[32];
  const auto cluster = cg::this_cluster();
  values[threadIdx.x] = threadIdx.x;
  cluster.sync();
  m[blockIdx.x * 32 + threadIdx.x] =
      cluster.map_shared_rank(values, (cluster.block_rank() + 1) % size)[threadIdx.x];
  cluster.sync();
}
RUN(read_after_sync, 2 * size, 32)

// Each round uses the memory again.
// LITMUS rounds_of_sync: right
__global__ void __cluster_dims__(size) rounds_of_sync(int* m) {
  __shared__ int values[64];
  const auto cluster = cg::this_cluster();
  const int* next = cluster.map_shared_rank(values, (cluster.block_rank() + 1) % size);
  int sum = 0;
  for (int round = 0; round < 5; ++round) {
    values[threadIdx.x] = round;
    cluster.sync();
    sum += next[63 - threadIdx.x];
    cluster.sync();
  }
  m[blockIdx.x * 64 + threadIdx.x] = sum;
}
RUN(rounds_of_sync, 2 * size, 64)

// LITMUS no_second_sync: race-shared
__global__ void __cluster_dims__(size) no_second_sync(int* m) {
  __shared__ int values[64];
  const auto cluster = cg::this_cluster();
  const int* next = cluster.map_shared_rank(values, (cluster.block_rank() + 1) % size);
  int sum = 0;
  for (int round = 0; round < 5; ++round) {
    values[threadIdx.x] = round; // HERE
    cluster.sync();
    sum += next[63 - threadIdx.x]; // HERE
  }
  cluster.sync();
  m[blockIdx.x * 64 + threadIdx.x] = sum;
}
RUN(no_second_sync, size, 64)

// LITMUS block_barrier_only: race-shared|uninitialised
// SAYS in the shared memory of block
__global__ void __cluster_dims__(size) block_barrier_only(int* m) {
  __shared__ int values[32];
  const auto cluster = cg::this_cluster();
  cluster.sync();
  values[threadIdx.x] = threadIdx.x; // HERE
  __syncthreads();
  m[blockIdx.x * 32 + threadIdx.x] =
      cluster.map_shared_rank(values, cluster.block_rank() ^ 1)[threadIdx.x]; // HERE
  cluster.sync();
}
RUN(block_barrier_only, size, 32)

// What is between the two halves of the barrier is ordered neither before nor after the others'.
// LITMUS write_between_halves: race-shared
__global__ void __cluster_dims__(size) write_between_halves(int* m) {
  __shared__ int values[32];
  const auto cluster = cg::this_cluster();
  cluster.sync();
  auto token = cluster.barrier_arrive();
  values[threadIdx.x] = threadIdx.x; // HERE
  cluster.barrier_wait(std::move(token));
  m[blockIdx.x * 32 + threadIdx.x] =
      cluster.map_shared_rank(values, cluster.block_rank() ^ 1)[threadIdx.x]; // HERE
  cluster.sync();
}
RUN(write_between_halves, size, 32)

// LITMUS write_before_arrive: right
__global__ void __cluster_dims__(size) write_before_arrive(int* m) {
  __shared__ int values[32], own[32];
  const auto cluster = cg::this_cluster();
  values[threadIdx.x] = threadIdx.x;
  auto token = cluster.barrier_arrive();
  own[threadIdx.x] = 2;
  cluster.barrier_wait(std::move(token));
  m[blockIdx.x * 32 + threadIdx.x] =
      cluster.map_shared_rank(values, cluster.block_rank() ^ 1)[threadIdx.x] + own[threadIdx.x];
  cluster.sync();
}
RUN(write_before_arrive, size, 32)

// The barrier orders global memory, too, and the threads of one block.
// LITMUS global_after_sync: right
__global__ void __cluster_dims__(size) global_after_sync(int* m) {
  __shared__ int values[64];
  const auto cluster = cg::this_cluster();
  m[256 + blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
  values[threadIdx.x] = 1;
  cluster.sync();
  m[blockIdx.x * 64 + threadIdx.x] =
      m[256 + (blockIdx.x ^ 1) * 64 + (threadIdx.x ^ 40)] + values[threadIdx.x ^ 40];
}
RUN(global_after_sync, size, 64)

// A cluster is not ordered with another one.
// LITMUS global_of_another_cluster: race-global
__global__ void __cluster_dims__(2) global_of_another_cluster(int* m) {
  const auto cluster = cg::this_cluster();
  m[256 + blockIdx.x * 32 + threadIdx.x] = threadIdx.x; // HERE
  cluster.sync();
  m[blockIdx.x * 32 + threadIdx.x] = m[256 + (blockIdx.x ^ 2) * 32 + threadIdx.x]; // HERE
}
RUN(global_of_another_cluster, 4, 32)

// A block that is alone in its cluster has the barrier as well.
// LITMUS cluster_of_one: right
__global__ void cluster_of_one(int* m) {
  __shared__ int values[64];
  values[threadIdx.x] = threadIdx.x;
  cg::this_cluster().sync();
  m[blockIdx.x * 64 + threadIdx.x] = values[63 - threadIdx.x];
}
RUN(cluster_of_one, 2, 64)

// LITMUS atomics_to_rank_0: right
__global__ void __cluster_dims__(size) atomics_to_rank_0(int* m) {
  __shared__ int bins[16];
  const auto cluster = cg::this_cluster();
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  cluster.sync();
  atomicAdd(cluster.map_shared_rank(bins, threadIdx.x % size) + threadIdx.x % 16, 1);
  cluster.sync();
  if (threadIdx.x < 16) m[blockIdx.x * 16 + threadIdx.x] = bins[threadIdx.x];
}
RUN(atomics_to_rank_0, 2 * size, 64)

// An atomic of block scope meets one of another block.
// LITMUS narrow_atomics: race-shared
__global__ void __cluster_dims__(size) narrow_atomics(int* m) {
  __shared__ int sum;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) sum = 0;
  cluster.sync();
  atomicAdd_block(cluster.map_shared_rank(&sum, 0), 1); // HERE
  cluster.sync();
  if (threadIdx.x == 0) m[blockIdx.x] = sum;
}
RUN(narrow_atomics, size, 32)

// LITMUS plain_updates: race-shared
__global__ void __cluster_dims__(size) plain_updates(int* m) {
  __shared__ int sum;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) sum = 0;
  cluster.sync();
  if (threadIdx.x == 0) *cluster.map_shared_rank(&sum, 0) += static_cast<int>(cluster.block_rank()); // HERE
  cluster.sync();
  if (threadIdx.x == 0) m[blockIdx.x] = sum;
}
RUN(plain_updates, size, 32)

// LITMUS unwritten: uninitialised
__global__ void __cluster_dims__(size) unwritten(int* m) {
  __shared__ int values[32];
  const auto cluster = cg::this_cluster();
  if (cluster.block_rank() != 2) values[threadIdx.x] = threadIdx.x;
  cluster.sync();
  m[blockIdx.x * 32 + threadIdx.x] =
      cluster.map_shared_rank(values, cluster.block_rank() ^ 1)[threadIdx.x]; // HERE
  cluster.sync();
}
RUN(unwritten, size, 32)

// LITMUS no_first_sync: cluster-memory|race-shared|uninitialised
__global__ void __cluster_dims__(size) no_first_sync(int* m) {
  __shared__ int values[32];
  const auto cluster = cg::this_cluster();
  cluster.map_shared_rank(values, cluster.block_rank() ^ 1)[threadIdx.x] = 1; // HERE
  cluster.sync();
  m[blockIdx.x * 32 + threadIdx.x] = values[threadIdx.x];
}
RUN(no_first_sync, size, 32)

// LITMUS no_last_sync: cluster-memory
// SAYS may have ended
__global__ void __cluster_dims__(size) no_last_sync(int* m) {
  __shared__ int values[32];
  const auto cluster = cg::this_cluster();
  values[threadIdx.x] = threadIdx.x;
  cluster.sync();
  m[blockIdx.x * 32 + threadIdx.x] =
      cluster.map_shared_rank(values, cluster.block_rank() ^ 1)[threadIdx.x]; // HERE
}
RUN(no_last_sync, size, 32)

// LITMUS access_between_last_halves: cluster-memory
__global__ void __cluster_dims__(size) access_between_last_halves(int* m) {
  __shared__ int values[32];
  const auto cluster = cg::this_cluster();
  values[threadIdx.x] = threadIdx.x;
  cluster.sync();
  auto token = cluster.barrier_arrive();
  m[blockIdx.x * 32 + threadIdx.x] =
      cluster.map_shared_rank(values, cluster.block_rank() ^ 1)[threadIdx.x]; // HERE
  cluster.barrier_wait(std::move(token));
}
RUN(access_between_last_halves, size, 32)

__device__ inline void arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void wait_aligned() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// An arrival that orders nothing still shows that its block has started, and that it is not needed any more.
// LITMUS relaxed_at_both_ends: right
__global__ void __cluster_dims__(size) relaxed_at_both_ends(int* m) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 1;
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
  arrive_relaxed();
  wait_aligned();
  const auto cluster = cg::this_cluster();
  m[blockIdx.x * 32 + threadIdx.x] = *cluster.map_shared_rank(&sum, cluster.block_rank() ^ 1);
  arrive_relaxed();
  wait_aligned();
}
RUN(relaxed_at_both_ends, size, 32)

// LITMUS relaxed_without_a_fence: race-shared
__global__ void __cluster_dims__(size) relaxed_without_a_fence(int* m) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 1; // HERE
  arrive_relaxed();
  wait_aligned();
  const auto cluster = cg::this_cluster();
  m[blockIdx.x * 32 + threadIdx.x] = *cluster.map_shared_rank(&sum, cluster.block_rank() ^ 1); // HERE
  cluster.sync();
}
RUN(relaxed_without_a_fence, size, 32)

__device__ inline unsigned at(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}
__device__ inline unsigned mapped(const void* shared, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(shared)), "r"(rank));
  return there;
}
__device__ inline void init(std::uint64_t* barrier, unsigned count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(barrier)), "r"(count) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void expect(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(barrier)), "r"(bytes)
               : "memory");
}
__device__ inline void arrive_at(unsigned barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void wait(std::uint64_t* barrier, unsigned parity) {
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; "
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(at(barrier)), "r"(parity)
                 : "memory");
}

// The writing block arrives at the reading block's mbarrier, which waits there.
// LITMUS arrive_at_the_reader: right
__global__ void __cluster_dims__(2) arrive_at_the_reader(int* m) {
  __shared__ int values[32];
  __shared__ std::uint64_t full;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) init(&full, 32);
  cluster.sync();
  if (cluster.block_rank() == 0) {
    cluster.map_shared_rank(values, 1)[threadIdx.x] = threadIdx.x;
    arrive_at(mapped(&full, 1));
  } else {
    wait(&full, 0);
    m[threadIdx.x] = values[31 - threadIdx.x];
  }
}
RUN(arrive_at_the_reader, 2, 32)

// LITMUS write_after_the_arrival: race-shared|cluster-memory|uninitialised
__global__ void __cluster_dims__(2) write_after_the_arrival(int* m) {
  __shared__ int values[32];
  __shared__ std::uint64_t full;
  const auto cluster = cg::this_cluster();
  values[threadIdx.x] = 0;
  if (threadIdx.x == 0) init(&full, 32);
  cluster.sync();
  if (cluster.block_rank() == 0) {
    arrive_at(mapped(&full, 1));
    cluster.map_shared_rank(values, 1)[threadIdx.x] = threadIdx.x; // HERE
  } else {
    wait(&full, 0);
    m[threadIdx.x] = values[31 - threadIdx.x]; // HERE
  }
  cluster.sync();
}
RUN(write_after_the_arrival, 2, 32)

// st.async: who waits for its bytes sees them.
// LITMUS store_async: right
__global__ void __cluster_dims__(2) store_async(int* m) {
  __shared__ int values[32];
  __shared__ std::uint64_t full;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) init(&full, 1), expect(&full, 32 * 4);
  cluster.sync();
  const unsigned other = cluster.block_rank() ^ 1;
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                   mapped(values + threadIdx.x, other)),
               "r"(threadIdx.x), "r"(mapped(&full, other))
               : "memory");
  wait(&full, 0);
  m[blockIdx.x * 32 + threadIdx.x] = values[31 - threadIdx.x];
}
RUN(store_async, 2, 32)

// LITMUS store_async_not_waited_for: race-shared|cluster-memory|uninitialised
__global__ void __cluster_dims__(2) store_async_not_waited_for(int* m) {
  __shared__ int values[32];
  __shared__ std::uint64_t full;
  const auto cluster = cg::this_cluster();
  values[threadIdx.x] = 0;
  if (threadIdx.x == 0) init(&full, 1), expect(&full, 32 * 4);
  cluster.sync();
  const unsigned other = cluster.block_rank() ^ 1;
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                   mapped(values + threadIdx.x, other)),
               "r"(threadIdx.x), "r"(mapped(&full, other))
               : "memory");                                    // HERE
  m[blockIdx.x * 32 + threadIdx.x] = values[31 - threadIdx.x]; // HERE
  cluster.sync();
}
RUN(store_async_not_waited_for, 2, 32)

// The bytes count at the barrier, but what the thread has written plainly does not come with them.
// LITMUS store_async_and_plain: race-shared
__global__ void __cluster_dims__(2) store_async_and_plain(int* m) {
  __shared__ int values[64];
  __shared__ std::uint64_t full;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) init(&full, 1), expect(&full, 32 * 4);
  cluster.sync();
  const unsigned other = cluster.block_rank() ^ 1;
  cluster.map_shared_rank(values, other)[32 + threadIdx.x] = 5; // HERE
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                   mapped(values + threadIdx.x, other)),
               "r"(threadIdx.x), "r"(mapped(&full, other))
               : "memory");
  wait(&full, 0);
  m[blockIdx.x * 32 + threadIdx.x] = values[32 + threadIdx.x] + values[threadIdx.x]; // HERE
  cluster.sync();
}
RUN(store_async_and_plain, 2, 32)

// A message by a fence and an atomic of cluster scope: within the cluster, and to another one.
template <unsigned To>
__device__ void message_of_cluster(int* m) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    m[64] = 42;
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(m) : "memory");
  }
  if (blockIdx.x == To && threadIdx.x == 0) {
    int seen = 0;
    while (!seen) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(m) : "memory");
    m[128] = m[64];
  }
}
// LITMUS fence_of_cluster_within: right
__global__ void __cluster_dims__(2) fence_of_cluster_within(int* m) {
  message_of_cluster<1>(m);
}
RUN(fence_of_cluster_within, 4, 32)

// LITMUS fence_of_cluster_to_another: fence
// SAYS reaches only its own cluster
__global__ void __cluster_dims__(2) fence_of_cluster_to_another(int* m) {
  message_of_cluster<2>(m);
}
RUN(fence_of_cluster_to_another, 4, 32)

__device__ void add_in_cluster(int* to) {
  asm volatile("red.relaxed.cluster.global.add.u32 [%0], 1;" ::"l"(to) : "memory");
}
// LITMUS atomics_of_cluster_within: right
__global__ void __cluster_dims__(2) atomics_of_cluster_within(int* m) {
  add_in_cluster(m + blockIdx.x / 2);
}
RUN(atomics_of_cluster_within, 4, 32)

// LITMUS atomics_of_cluster_to_another: race-global
__global__ void __cluster_dims__(2) atomics_of_cluster_to_another(int* m) {
  add_in_cluster(m); // it also serves the other cluster
}
RUN(atomics_of_cluster_to_another, 4, 32)

#define COPY_TO_BLOCK                                                                                        \
  "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
#define COPY_TO_BLOCKS                                                                                       \
  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "    \
  "[%3], %4;"

// A ring: each block fills its neighbour's buffer when that one says that it is empty, and reads its own.
// LITMUS ring: right
__global__ void __cluster_dims__(size) ring(int* m) {
  __shared__ int buffer[64];
  __shared__ std::uint64_t full, empty;
  const auto cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), next = (rank + 1) % size, before = (rank + size - 1) % size;
  if (threadIdx.x == 0) init(&full, 64), init(&empty, 64);
  cluster.sync();
  int value = static_cast<int>(rank);
  for (unsigned round = 0; round < 4; ++round) {
    if (round > 0) wait(&empty, (round - 1) & 1);
    cluster.map_shared_rank(buffer, next)[threadIdx.x] = value;
    arrive_at(mapped(&full, next));
    wait(&full, round & 1);
    value = buffer[63 - threadIdx.x] + 1;
    arrive_at(mapped(&empty, before));
  }
  m[blockIdx.x * 64 + threadIdx.x] = value;
  cluster.sync();
}
RUN(ring, 2 * size, 64)

// The same without waiting for the buffer to be empty.
// LITMUS ring_not_empty: race-shared
__global__ void __cluster_dims__(size) ring_not_empty(int* m) {
  __shared__ int buffer[64];
  __shared__ std::uint64_t full[2];
  const auto cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), next = (rank + 1) % size;
  if (threadIdx.x == 0) init(&full[0], 64), init(&full[1], 64);
  cluster.sync();
  int value = static_cast<int>(rank);
  for (unsigned round = 0; round < 2; ++round) {
    cluster.map_shared_rank(buffer, next)[threadIdx.x] = value; // HERE
    arrive_at(mapped(&full[round], next));
    wait(&full[round], 0);
    value = buffer[63 - threadIdx.x] + 1; // HERE
  }
  m[blockIdx.x * 64 + threadIdx.x] = value;
  cluster.sync();
}
RUN(ring_not_empty, size, 64)

// A copy to the neighbour by one thread; all threads of the neighbour wait for it.
// LITMUS copy_to_the_neighbour: right
__global__ void __cluster_dims__(size) copy_to_the_neighbour(int* m) {
  __shared__ alignas(16) int from[64], to[64];
  __shared__ std::uint64_t full;
  const auto cluster = cg::this_cluster();
  const unsigned next = (cluster.block_rank() + 1) % size;
  from[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) init(&full, 1), expect(&full, 256);
  cluster.sync();
  if (threadIdx.x == 0)
    asm volatile(COPY_TO_BLOCK ::"r"(mapped(to, next)), "r"(at(from)), "r"(256), "r"(mapped(&full, next))
                 : "memory");
  wait(&full, 0);
  m[blockIdx.x * 64 + threadIdx.x] = to[63 - threadIdx.x];
  cluster.sync();
}
RUN(copy_to_the_neighbour, size, 64)

// LITMUS copy_not_waited_for: race-shared|uninitialised
__global__ void __cluster_dims__(size) copy_not_waited_for(int* m) {
  __shared__ alignas(16) int from[64], to[64];
  __shared__ std::uint64_t full;
  const auto cluster = cg::this_cluster();
  const unsigned next = (cluster.block_rank() + 1) % size;
  from[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) init(&full, 1), expect(&full, 256);
  cluster.sync();
  if (threadIdx.x == 0)
    asm volatile(COPY_TO_BLOCK ::"r"(mapped(to, next)), "r"(at(from)), "r"(256), "r"(mapped(&full, next))
                 : "memory");
  if (threadIdx.x < 32) wait(&full, 0);
  m[blockIdx.x * 64 + threadIdx.x] = to[63 - threadIdx.x]; // HERE
  cluster.sync();
}
RUN(copy_not_waited_for, size, 64)

// LITMUS copy_to_several: right
__global__ void __cluster_dims__(size) copy_to_several(int* m) {
  __shared__ alignas(16) int to[64];
  __shared__ std::uint64_t full;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) init(&full, 1), expect(&full, 256);
  cluster.sync();
  if (threadIdx.x == 0 && cluster.block_rank() == 1)
    asm volatile(COPY_TO_BLOCKS ::"r"(at(to)), "l"(m + 1024), "r"(256), "r"(at(&full)),
                 "h"(static_cast<unsigned short>(15))
                 : "memory");
  wait(&full, 0);
  m[blockIdx.x * 64 + threadIdx.x] = to[63 - threadIdx.x];
  cluster.sync();
}
RUN(copy_to_several, size, 64)

// A histogram over the shared memory of a cluster, as in the CUDA Programming Guide.
// LITMUS histogram: right
__global__ void __cluster_dims__(size) histogram(int* m) {
  __shared__ int bins[16];
  const auto cluster = cg::this_cluster();
  for (unsigned i = threadIdx.x; i < 16; i += blockDim.x) bins[i] = 0;
  cluster.sync();
  for (int i = 0; i < 4; ++i) {
    const unsigned bin = (threadIdx.x * 7 + blockIdx.x * 3 + i) % 64;
    atomicAdd(cluster.map_shared_rank(bins, bin / 16) + bin % 16, 1);
  }
  cluster.sync();
  for (unsigned i = threadIdx.x; i < 16; i += blockDim.x)
    atomicAdd(&m[cluster.block_rank() * 16 + i], bins[i]);
}
RUN(histogram, 2 * size, 96)

// A tree of sums: the warps of a block by __syncthreads, the blocks of the cluster by rank 0.
// LITMUS sum_of_cluster: right
__global__ void __cluster_dims__(size) sum_of_cluster(int* m) {
  __shared__ int partial[128], total[size];
  const auto cluster = cg::this_cluster();
  partial[threadIdx.x] = m[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  for (unsigned step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  cluster.sync(); // all have started
  if (threadIdx.x == 0) cluster.map_shared_rank(total, 0)[cluster.block_rank()] = partial[0];
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0)
    m[4096 + blockIdx.x] = total[0] + total[1] + total[2] + total[3];
}
RUN(sum_of_cluster, 2 * size, 128)

int main() {
  return run_all();
}
