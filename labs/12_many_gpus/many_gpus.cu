// Lab 12: many GPUs.
//
// An array that is too large for one GPU, or too slow on it, is shared out: each device has a shard of it in
// its own memory. Adding up a shard is what the labs before this one taught, and is given here. What is new
// is how the devices' sums come together, which takes a decision about each step: which device does it, what
// must be done before, and who sees what another has written.
//
//   peer_copies    one host thread drives all devices; their sums are copied to the first; events order it
//   peer_reads     the first device reads the others' sums where they are
//   nccl_reduce    NCCL brings the sums together, with whatever links there are
//   one_kernel     the kernels exchange their sums themselves, while they run
//   rank_per_gpu   a process per device, started by MPI: the same on a laptop, a node and a cluster
//
// Without GPUs, the emulator makes four devices; --devices K asks for another number.
#include "lab.hpp"

#include <mpi.h>
#include <nccl.h>

// ---- shared by all rungs ---------------------------------------------------------------------------------

constexpr unsigned most_devices = 16;

// The sum of the warp's values; all lanes get it.
__device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(lab::all_lanes, value, distance);
  }
  return value;
}

// The sum of the block's values, in all lanes of warp 0. `partial` must hold 32 values that no other call
// uses.
__device__ float block_sum(float value, float* partial) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_sum(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  if (warp == 0) value = warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
  return value;
}

// The number of blocks of this launch that have left their sum. Like every __device__ variable, each device
// has one of its own.
__device__ unsigned blocks_done;

// This thread's part of a shard. Blocks take tiles of 4 x blockDim.x vectors of 16 bytes by turns, and all
// four loads of a thread are under way before the first value is used (labs 05 and 09). In the last, ragged
// tile a thread has what is left for it. Up to three elements lie before the first multiple of 16 bytes, and
// behind the last vector.
__device__ float sum_of_thread(const float* input, std::size_t n) {
  const std::size_t to_boundary = (0 - reinterpret_cast<std::size_t>(input)) / sizeof(float) % 4;
  const std::size_t before = to_boundary < n ? to_boundary : n;
  const std::size_t vectors = (n - before) / 4, behind = before + 4 * vectors;
  const float4* const first = reinterpret_cast<const float4*>(input + before);
  float sum = 0.0f;
  if (blockIdx.x == 0 && threadIdx.x < before) sum += input[threadIdx.x];
  if (blockIdx.x == 0 && threadIdx.x < n - behind) sum += input[behind + threadIdx.x];
  constexpr unsigned loads = 4;
  const std::size_t tile = loads * blockDim.x;
  std::size_t i = blockIdx.x * tile + threadIdx.x;
  for (; i + (loads - 1) * blockDim.x < vectors; i += gridDim.x * tile) {
    float4 loaded[loads];
#pragma unroll
    for (unsigned k = 0; k < loads; ++k) loaded[k] = __ldcs(first + i + k * blockDim.x);
#pragma unroll
    for (unsigned k = 0; k < loads; ++k) sum += (loaded[k].x + loaded[k].y) + (loaded[k].z + loaded[k].w);
  }
  for (; i < vectors; i += blockDim.x) {
    const float4 loaded = __ldcs(first + i);
    sum += (loaded.x + loaded.y) + (loaded.z + loaded.w);
  }
  return sum;
}

// Adds up a shard as last_block of lab 09 does: every block leaves its sum in `sums`, and the block that
// finishes last adds these up, always in the same order. It returns true to all threads of that block, and
// `total` to its warp 0.
__device__ bool sum_of_shard(const float* input, std::size_t n, float* sums, float& total) {
  __shared__ float partial[32], partial_of_sums[32];
  __shared__ bool is_last;
  float value = block_sum(sum_of_thread(input, n), partial);
  if (gridDim.x == 1) return total = value, true;
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = value;
    __threadfence();
    is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return false;
  value = 0.0f;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) value += __ldcg(sums + i);
  total = block_sum(value, partial_of_sums);
  return true;
}

__global__ void sum_kernel(const float* input, std::size_t n, float* sums, float* sum) {
  float total;
  if (sum_of_shard(input, n, sums, total) && threadIdx.x == 0) *sum = total;
}

// A block per tile, but no more than the device holds at once: more would leave more sums to add up at the
// end. With very many tiles, one block per 16 tiles: a multiprocessor that is done sooner than the others
// takes another block.
unsigned blocks_for(std::size_t n, unsigned block) {
  const std::size_t tiles = n == 0 ? 1 : lab::ceil_div(n, 16 * block), resident = lab::resident_blocks(block);
  const std::size_t most = tiles / 16 > resident ? tiles / 16 : resident;
  return unsigned(tiles < most ? tiles : most);
}

// Launches the kernel that leaves the sum of this shard at `sum`, on the device in use, in this stream. It
// returns at once.
void launch_sum(const lab::Shard& shard, float* sum, cudaStream_t stream, unsigned block) {
  const unsigned blocks = blocks_for(shard.n, block);
  sum_kernel<<<blocks, block, 0, stream>>>(shard.input, shard.n, lab::scratch<float>(blocks), sum);
}

// What the host keeps for each device: a stream and an event that belong to it. Work in one stream is done in
// order; work in two streams has no order until an event gives it one.
struct Queue {
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
};

// Made at the first call.
Queue queue_of(int device) {
  static Queue queues[most_devices];
  Queue& queue = queues[device];
  if (!queue.stream) {
    int in_use = 0;
    cudaGetDevice(&in_use);
    cudaSetDevice(device);
    cudaStreamCreateWithFlags(&queue.stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&queue.done, cudaEventDisableTiming);
    cudaSetDevice(in_use);
  }
  return queue;
}

// ---- peer_copies -----------------------------------------------------------------------------------------

// One warp adds up the sums of all devices, which lie side by side.
__global__ void add_up_kernel(const float* sums, unsigned devices, float* result) {
  const float total = warp_sum(threadIdx.x < devices ? sums[threadIdx.x] : 0.0f);
  if (threadIdx.x == 0) *result = total;
}

// The host only issues work here; it never waits. So all devices work at the same time, and what must come
// after what is said by events.
void peer_copies(lab::Shards shards, float* result, unsigned block) {
  const lab::Shard& first = shards[0];
  float* const sums = lab::scratch<float>(shards.size()); // on the first device, which is in use
  // BEGIN peer_copies
  // TODO: For each shard, on its device (cudaSetDevice): launch_sum() into memory of that device
  // (lab::scratch<float>(1)), in the device's own stream (queue_of), and behind it in the same stream
  // cudaMemcpyPeerAsync the sum to its place in sums, on the first device. Then record the device's event.
  // Last, on the first device: make its stream wait for all these events, and launch add_up_kernel with one
  // warp in it. (12 lines)
  // END peer_copies
}

// ---- peer_reads ------------------------------------------------------------------------------------------

// Called once, before the first of any number of sums.
void let_first_reach_others(lab::Shards shards) {
  // BEGIN peer_reads
  // TODO: With the first device in use, allow its kernels to access the memory of each other device:
  // cudaDeviceEnablePeerAccess(device, 0). (2 lines)
  // END peer_reads
}

// Where each device's sum is. An address says by itself which device's memory it belongs to.
struct Places {
  const float* of[most_devices];
};

// One warp, on the first device.
__global__ void read_peers_kernel(Places places, unsigned devices, float* result) {
  // BEGIN peer_reads
  // TODO: Add up the devices' sums, each read where it is, always in the same order, and store the total in
  // *result. There is a lane for each device. (3 lines)
  // END peer_reads
}

void peer_reads(lab::Shards shards, float* result, unsigned block) {
  Places places{};
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    float* const sum = lab::scratch<float>(1);
    launch_sum(shards[k], sum, queue_of(shards[k].device).stream, block);
    places.of[k] = sum;
  }
  cudaSetDevice(shards[0].device);
  const cudaStream_t last = queue_of(shards[0].device).stream;
  // BEGIN peer_reads
  // TODO: The stream `last` must not go on before each device's sum is there: record each device's event in
  // its stream, and make `last` wait for it. (5 lines)
  // END peer_reads
  read_peers_kernel<<<1, 32, 0, last>>>(places, shards.size(), result);
}

// ---- nccl_reduce -----------------------------------------------------------------------------------------

// A communicator per device: a device's membership in a group that communicates, in which its number is its
// rank. They are made at the first call for so many devices, which takes far longer than a sum.
const ncclComm_t* communicators(lab::Shards shards) {
  static ncclComm_t all[most_devices + 1][most_devices];
  ncclComm_t* const members = all[shards.size()];
  if (!members[0]) {
    int devices[most_devices] = {};
    for (unsigned k = 0; k < shards.size(); ++k) devices[k] = shards[k].device;
    ncclCommInitAll(members, int(shards.size()), devices);
  }
  return members;
}

void nccl_reduce(lab::Shards shards, float* result, unsigned block) {
  const ncclComm_t* const members = communicators(shards);
  float* sums[most_devices];
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    sums[k] = lab::scratch<float>(1);
    launch_sum(shards[k], sums[k], queue_of(shards[k].device).stream, block);
  }
  // BEGIN nccl_reduce
  // TODO: Let NCCL add up sums[k] of all devices: ncclReduce in each device's stream, with its communicator;
  // rank 0 gets the result. One thread calls it for several devices, so these calls must be a group. (5
  // lines)
  // END nccl_reduce
}

// ---- one_kernel ------------------------------------------------------------------------------------------

// A sum, and a mark that says for which run of the program it is.
struct Letter {
  float sum;
  unsigned mark;
};

// Each device has a mailbox in its own memory, with a place for a letter from each device. A device may be a
// run ahead of another, which still reads the letters of the run before: so there are two sets of places.
struct Mailbox {
  Letter letters[2][most_devices];
};
struct Mailboxes {
  Mailbox* of[most_devices]; // in order of the shards
};

// Every mark is 0 at first, and runs count from 1.
Mailbox* mailbox_on(int device) {
  static Mailbox* mailboxes[most_devices];
  if (!mailboxes[device]) {
    cudaSetDevice(device);
    cudaMalloc(&mailboxes[device], sizeof(Mailbox));
    lab::name_memory(mailboxes[device], "the mailbox on device", device);
    cudaMemset(mailboxes[device], 0, sizeof(Mailbox));
    cudaDeviceSynchronize();
  }
  return mailboxes[device];
}

// Called once, before the first of any number of sums.
void let_all_reach_all(lab::Shards shards) {
  // BEGIN one_kernel
  // TODO: Allow the kernels of each device to access the memory of each other device. (5 lines)
  // END one_kernel
  for (const lab::Shard& shard : shards) mailbox_on(shard.device);
}

// The letter of this run from device `from` to device `to`. A volatile access is not left out, and not moved
// before or after another volatile one, by the compiler; the hardware may still reorder two of them.
__device__ volatile Letter* letter(const Mailboxes& mailboxes, unsigned to, unsigned from, unsigned run) {
  return &mailboxes.of[to]->letters[run % 2][from];
}

// Of a parameter that is marked __grid_constant__ no thread makes a copy of its own, also if its address is
// taken.
__global__ void exchange_kernel(const float* input, std::size_t n, float* sums, float* result,
                                const __grid_constant__ Mailboxes mailboxes, unsigned me, unsigned devices,
                                unsigned run) {
  float total;
  if (!sum_of_shard(input, n, sums, total) || threadIdx.x >= 32) return;
  // From here on, one warp of each device; all its lanes have the sum of the device's shard in total.
  // BEGIN one_kernel
  // TODO: Lane k writes this device's letter to device k (to its own, too, or it keeps that sum): the sum,
  // then the mark, which is `run`. Then it waits in its own mailbox for the letter from device k, and takes
  // the sum out of it. A thread that sees the mark must see the sum, on another device too: that takes a
  // fence on either side. Then the warp adds up what its lanes have, so that all of them have the sum of
  // everything in total. (13 lines)
  // END one_kernel
  if (me == 0 && threadIdx.x == 0) *result = total;
}

// Launches the kernel of device k, which must be in use. `sums` has room for its blocks' sums.
void launch_exchange(lab::Shards shards, unsigned k, float* sums, float* result, unsigned run,
                     unsigned block) {
  Mailboxes mailboxes{};
  for (unsigned other = 0; other < shards.size(); ++other)
    mailboxes.of[other] = mailbox_on(shards[other].device);
  const lab::Shard& mine = shards[k];
  exchange_kernel<<<blocks_for(mine.n, block), block, 0, queue_of(mine.device).stream>>>(
      mine.input, mine.n, sums, result, mailboxes, k, shards.size(), run);
}

void one_kernel(lab::Shards shards, float* result, unsigned block) {
  static unsigned run = 0;
  ++run;
  // All memory first, and each device's copy of the kernel, which CUDA loads when it is first needed: both
  // may wait for kernels that run, and these wait for one another.
  float* sums[most_devices];
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    cudaFuncAttributes loaded;
    cudaFuncGetAttributes(&loaded, exchange_kernel);
    sums[k] = lab::scratch<float>(blocks_for(shards[k].n, block));
  }
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    launch_exchange(shards, k, sums[k], result, run, block);
  }
}

// ---- rank_per_gpu ----------------------------------------------------------------------------------------

// mpirun or srun has started this program several times; MPI_Init lets these processes find one another. The
// lab's own messages, about what is to be checked, go over a communicator of their own.
MPI_Comm of_the_lab;

void begin_processes(int* rank, int* ranks) {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, ranks);
  MPI_Comm_dup(MPI_COMM_WORLD, &of_the_lab);
}

void broadcast(void* bytes, int count, int from_rank) {
  MPI_Bcast(bytes, count, MPI_BYTE, from_rank, of_the_lab);
}

void end_processes() {
  MPI_Finalize();
}

// Makes this process a member of NCCL's group. Called once in each process, with its device in use.
ncclComm_t join(int rank, int ranks) {
  ncclComm_t member = nullptr;
  // BEGIN rank_per_gpu
  // TODO: Rank 0 gets a ncclUniqueId from NCCL and MPI_Bcasts its bytes to all ranks; then each calls
  // ncclCommInitRank with it. (4 lines)
  // END rank_per_gpu
  return member;
}

// Every rank calls this, each with its own shard; `result` counts on rank 0 alone.
void rank_per_gpu(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  // BEGIN rank_per_gpu
  // TODO: Launch the sum of this process's shard into scratch memory, or into `result`, and let NCCL reduce
  // it to rank 0: ncclReduce. (3 lines)
  // END rank_per_gpu
}

int main(int argc, char** argv) {
  return lab::main(argc, argv,
                   {{"peer_copies", peer_copies},
                    {"peer_reads", lab::Variant(peer_reads).set_up_by(let_first_reach_others)},
                    {"nccl_reduce", nccl_reduce},
                    {"one_kernel", lab::Variant(one_kernel).set_up_by(let_all_reach_all)},
                    {"rank_per_gpu", {rank_per_gpu, {begin_processes, broadcast, end_processes}}}});
}
