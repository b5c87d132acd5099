// Lab 12: who orders what between devices, who may access whose memory, and what a fence reaches.
#include "promises/rung.hpp"

// What is given in the lab, and what is right in the mutants, is the solution's; its main() is of no use
// here.
namespace lab {
inline int main_of_the_solution(int, char**, std::initializer_list<Implementation>) {
  return 0;
}
} // namespace lab
#define main main_of_the_solution
#include "../../solutions/12_many_gpus/many_gpus.cu"
#undef main

// ---- peer_copies -----------------------------------------------------------------------------------------

// Right, for what is not wrong in a mutant: shard k's sum goes to its place on the first device.
void bring_sum(lab::Shards shards, float* sums, unsigned k, unsigned block) {
  cudaSetDevice(shards[k].device);
  const Queue queue = queue_of(shards[k].device);
  float* const sum = lab::scratch<float>(1);
  launch_sum(shards[k], sum, queue.stream, block);
  cudaMemcpyPeerAsync(sums + k, shards[0].device, sum, shards[k].device, sizeof(float), queue.stream);
  cudaEventRecord(queue.done, queue.stream);
}
void add_up(lab::Shards shards, const float* sums, float* result) {
  cudaSetDevice(shards[0].device);
  const cudaStream_t last = queue_of(shards[0].device).stream;
  for (const lab::Shard& shard : shards) cudaStreamWaitEvent(last, queue_of(shard.device).done);
  add_up_kernel<<<1, 32, 0, last>>>(sums, shards.size(), result);
}

void no_wait(lab::Shards shards, float* result, unsigned block) {
  float* const sums = lab::scratch<float>(shards.size());
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    const Queue queue = queue_of(shards[k].device);
    float* const sum = lab::scratch<float>(1);
    launch_sum(shards[k], sum, queue.stream, block);
    // MUTANT no_wait: state=wrong|hazard kind=race-host diagnosis=any
    // Events are recorded, but nobody waits for them.
    cudaMemcpyPeerAsync(sums + k, shards[0].device, sum, shards[k].device, sizeof(float), queue.stream);
    cudaEventRecord(queue.done, queue.stream);
  }
  cudaSetDevice(shards[0].device);
  add_up_kernel<<<1, 32, 0, queue_of(shards[0].device).stream>>>(sums, shards.size(), result);
}

void record_before_copy(lab::Shards shards, float* result, unsigned block) {
  float* const sums = lab::scratch<float>(shards.size());
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    const Queue queue = queue_of(shards[k].device);
    float* const sum = lab::scratch<float>(1);
    launch_sum(shards[k], sum, queue.stream, block);
    cudaEventRecord(queue.done, queue.stream);
    // MUTANT record_before_copy: state=wrong|hazard kind=race-host diagnosis=any
    // The event marks the end of the launch; the copy comes behind it.
    cudaMemcpyPeerAsync(sums + k, shards[0].device, sum, shards[k].device, sizeof(float), queue.stream);
  }
  add_up(shards, sums, result);
}

void wait_before_record(lab::Shards shards, float* result, unsigned block) {
  float* const sums = lab::scratch<float>(shards.size());
  const cudaStream_t last = queue_of(shards[0].device).stream;
  for (const lab::Shard& shard : shards) cudaStreamWaitEvent(last, queue_of(shard.device).done);
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    const Queue queue = queue_of(shards[k].device);
    float* const sum = lab::scratch<float>(1);
    launch_sum(shards[k], sum, queue.stream, block);
    // MUTANT wait_before_record: state=wrong|hazard kind=race-host diagnosis=any
    // The stream waits for what the events marked before, which is nothing or the run before.
    cudaMemcpyPeerAsync(sums + k, shards[0].device, sum, shards[k].device, sizeof(float), queue.stream);
    cudaEventRecord(queue.done, queue.stream);
  }
  cudaSetDevice(shards[0].device);
  add_up_kernel<<<1, 32, 0, last>>>(sums, shards.size(), result);
}

void copy_in_another_stream(lab::Shards shards, float* result, unsigned block) {
  float* const sums = lab::scratch<float>(shards.size());
  const cudaStream_t last = queue_of(shards[0].device).stream;
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    float* const sum = lab::scratch<float>(1);
    launch_sum(shards[k], sum, queue_of(shards[k].device).stream, block);
    // MUTANT copy_in_another_stream: state=wrong|hazard kind=race-host diagnosis=any
    // The copies are all put into the first device's stream, which does not wait for the sums.
    cudaMemcpyPeerAsync(sums + k, shards[0].device, sum, shards[k].device, sizeof(float), last);
  }
  cudaSetDevice(shards[0].device);
  add_up_kernel<<<1, 32, 0, last>>>(sums, shards.size(), result);
}

void one_place_for_all(lab::Shards shards, float* result, unsigned block) {
  float* const sums = lab::scratch<float>(shards.size());
  cudaMemset(sums, 0, shards.size() * sizeof(float));
  cudaDeviceSynchronize();
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    const Queue queue = queue_of(shards[k].device);
    float* const sum = lab::scratch<float>(1);
    launch_sum(shards[k], sum, queue.stream, block);
    // MUTANT one_place_for_all: state=wrong kind=race-host diagnosis=any
    // All sums are copied to the first place.
    cudaMemcpyPeerAsync(sums, shards[0].device, sum, shards[k].device, sizeof(float), queue.stream);
    cudaEventRecord(queue.done, queue.stream);
  }
  add_up(shards, sums, result);
}

__global__ void add_up_what_is_there(const float* sums, unsigned devices, float* result) {
  // MUTANT device_not_set: state=wrong kind=uninitialised diagnosis=none
  // Everything is launched while the first device is in use, into streams of the others, and refused.
  const float total = warp_sum(threadIdx.x < devices ? sums[threadIdx.x] : 0.0f);
  if (threadIdx.x == 0) *result = total;
}
void device_not_set(lab::Shards shards, float* result, unsigned block) {
  float* const sums = lab::scratch<float>(shards.size());
  for (unsigned k = 0; k < shards.size(); ++k) {
    const Queue queue = queue_of(shards[k].device);
    float* const sum = lab::scratch<float>(1);
    launch_sum(shards[k], sum, queue.stream, block);
    cudaMemcpyPeerAsync(sums + k, shards[0].device, sum, shards[k].device, sizeof(float), queue.stream);
    cudaEventRecord(queue.done, queue.stream);
  }
  const cudaStream_t last = queue_of(shards[0].device).stream;
  for (const lab::Shard& shard : shards) cudaStreamWaitEvent(last, queue_of(shard.device).done);
  add_up_what_is_there<<<1, 32, 0, last>>>(sums, shards.size(), result);
}

__global__ void sum_elsewhere(const float* input, std::size_t n, float* sums, float* sum) {
  float total;
  if (!sum_of_shard(input, n, sums, total)) return;
  // MUTANT device_set_too_late: state=wrong|hazard kind=peer-access diagnosis=any
  // The memory for the sum is allocated before cudaSetDevice, so it is the device's before.
  if (threadIdx.x == 0) *sum = total;
}
void device_set_too_late(lab::Shards shards, float* result, unsigned block) {
  float* const sums = lab::scratch<float>(shards.size());
  for (unsigned k = 0; k < shards.size(); ++k) {
    const Queue queue = queue_of(shards[k].device);
    float* const sum = lab::scratch<float>(1);
    cudaSetDevice(shards[k].device);
    const unsigned blocks = blocks_for(shards[k].n, block);
    sum_elsewhere<<<blocks, block, 0, queue.stream>>>(shards[k].input, shards[k].n,
                                                      lab::scratch<float>(blocks), sum);
    cudaMemcpyPeerAsync(sums + k, shards[0].device, sum, shards[k].device, sizeof(float), queue.stream);
    cudaEventRecord(queue.done, queue.stream);
  }
  add_up(shards, sums, result);
}

__global__ void add_up_elsewhere(const float* sums, unsigned devices, float* result) {
  // MUTANT added_up_elsewhere: state=wrong|hazard kind=peer-access diagnosis=any
  // The last device adds up what lies on the first.
  const float total = warp_sum(threadIdx.x < devices ? sums[threadIdx.x] : 0.0f);
  if (threadIdx.x == 0) *result = total;
}
void added_up_elsewhere(lab::Shards shards, float* result, unsigned block) {
  float* const sums = lab::scratch<float>(shards.size());
  for (unsigned k = 0; k < shards.size(); ++k) bring_sum(shards, sums, k, block);
  const int device = shards[shards.size() - 1].device;
  cudaSetDevice(device);
  const cudaStream_t last = queue_of(device).stream;
  for (const lab::Shard& shard : shards) cudaStreamWaitEvent(last, queue_of(shard.device).done);
  add_up_elsewhere<<<1, 32, 0, last>>>(sums, shards.size(), result);
}

// MUTANT length_of_the_first: state=wrong kind=none diagnosis=any
// The shards are not all as long as the first.
void length_of_the_first(lab::Shards shards, float* result, unsigned block) {
  lab::Shard alike[most_devices];
  for (unsigned k = 0; k < shards.size(); ++k) alike[k] = {shards[k].device, shards[k].input, shards[0].n};
  peer_copies({alike, shards.size()}, result, block);
}

// MUTANT last_left_out: state=wrong kind=none diagnosis=not-read
// The loop ends one device too early.
void last_left_out(lab::Shards shards, float* result, unsigned block) {
  peer_copies({shards.begin(), shards.size() > 1 ? shards.size() - 1 : 1}, result, block);
}

// MUTANT host_waits: state=off-technique kind=none diagnosis=none
// Right, but the host waits for each device before it gives the next one anything to do.
void host_waits(lab::Shards shards, float* result, unsigned block) {
  float* const sums = lab::scratch<float>(shards.size());
  for (unsigned k = 0; k < shards.size(); ++k) {
    bring_sum(shards, sums, k, block);
    cudaStreamSynchronize(queue_of(shards[k].device).stream);
  }
  add_up(shards, sums, result);
}

// MUTANT shards_copied: state=off-technique kind=none diagnosis=none
// Right, but all elements go over the links, and the first device adds them all up.
void shards_copied(lab::Shards shards, float* result, unsigned block) {
  float* const sums = lab::scratch<float>(shards.size());
  const cudaStream_t last = queue_of(shards[0].device).stream;
  for (unsigned k = 0; k < shards.size(); ++k) {
    float* const here = lab::scratch<float>(shards[k].n + 1);
    cudaMemcpyPeerAsync(here, shards[0].device, shards[k].input, shards[k].device,
                        shards[k].n * sizeof(float), last);
    launch_sum({shards[0].device, here, shards[k].n}, sums + k, last, block);
  }
  add_up_kernel<<<1, 32, 0, last>>>(sums, shards.size(), result);
}

__global__ void sum_in_input_kernel(float* input, std::size_t n, float* sums) {
  float total;
  // MUTANT sum_in_input: state=wrong|hazard kind=input-written diagnosis=any
  // Each device leaves its sum in its shard, which is not this rung's to change.
  if (sum_of_shard(input, n, sums, total) && threadIdx.x == 0) *input = total;
}
void sum_in_input(lab::Shards shards, float* result, unsigned block) {
  float* const sums = lab::scratch<float>(shards.size());
  for (unsigned k = 0; k < shards.size(); ++k) {
    if (shards[k].n == 0) {
      bring_sum(shards, sums, k, block);
      continue;
    }
    cudaSetDevice(shards[k].device);
    const Queue queue = queue_of(shards[k].device);
    float* const input = const_cast<float*>(shards[k].input);
    const unsigned blocks = blocks_for(shards[k].n, block);
    sum_in_input_kernel<<<blocks, block, 0, queue.stream>>>(input, shards[k].n, lab::scratch<float>(blocks));
    cudaMemcpyPeerAsync(sums + k, shards[0].device, input, shards[k].device, sizeof(float), queue.stream);
    cudaEventRecord(queue.done, queue.stream);
  }
  add_up(shards, sums, result);
}

// ---- peer_reads ------------------------------------------------------------------------------------------

// The sums on each device, the kernel that reads them launched behind all of them unless it does not wait.
template <void (*kernel)(Places, unsigned, float*), bool waits = true>
void read_by(lab::Shards shards, float* result, unsigned block) {
  Places places{};
  const cudaStream_t last = queue_of(shards[0].device).stream;
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    const Queue queue = queue_of(shards[k].device);
    float* const sum = lab::scratch<float>(1);
    launch_sum(shards[k], sum, queue.stream, block);
    cudaEventRecord(queue.done, queue.stream);
    places.of[k] = sum;
  }
  cudaSetDevice(shards[0].device);
  if (waits)
    for (const lab::Shard& shard : shards) cudaStreamWaitEvent(last, queue_of(shard.device).done);
  kernel<<<1, 32, 0, last>>>(places, shards.size(), result);
}

__global__ void read_without_access(Places places, unsigned devices, float* result) {
  // MUTANT no_access: state=wrong|hazard kind=peer-access diagnosis=any
  // cudaDeviceEnablePeerAccess was not called.
  const float value = threadIdx.x < devices ? *places.of[threadIdx.x] : 0.0f;
  const float total = warp_sum(value);
  if (threadIdx.x == 0) *result = total;
}

__global__ void read_with_access_of_others(Places places, unsigned devices, float* result) {
  // MUTANT access_the_wrong_way_round: state=wrong|hazard kind=peer-access diagnosis=any
  // The others may access the first device's memory, which does not let it access theirs.
  const float value = threadIdx.x < devices ? *places.of[threadIdx.x] : 0.0f;
  const float total = warp_sum(value);
  if (threadIdx.x == 0) *result = total;
}
void let_others_reach_first(lab::Shards shards) {
  for (unsigned k = 1; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    cudaDeviceEnablePeerAccess(shards[0].device, 0);
  }
}

__global__ void read_too_soon(Places places, unsigned devices, float* result) {
  // MUTANT read_too_soon: state=wrong|hazard kind=race-global diagnosis=any
  // The stream of the first device waits for none of the others.
  const float value = threadIdx.x < devices ? *places.of[threadIdx.x] : 0.0f;
  const float total = warp_sum(value);
  if (threadIdx.x == 0) *result = total;
}

// MUTANT read_by_every_lane: state=off-technique kind=none diagnosis=none
// Right, but each lane reads all sums one after the other: they go over the links once for each step.
__global__ void read_twice(Places places, unsigned devices, float* result) {
  float largest = 0.0f, total = 0.0f;
  for (unsigned k = 0; k < devices; ++k) largest = fmaxf(largest, *(volatile const float*)places.of[k]);
  for (unsigned k = 0; k < devices; ++k) total += *(volatile const float*)places.of[k];
  if (threadIdx.x == 0) *result = largest < 0.0f ? 0.0f : total;
}

// MUTANT added_by_atomics: state=off-technique kind=none diagnosis=none
// Right, but atomics add in an order that is not the same on every run.
__global__ void add_by_atomics(Places places, unsigned devices, float* result) {
  if (threadIdx.x == 0) *result = 0.0f;
  __syncwarp();
  if (threadIdx.x < devices) atomicAdd(result, *places.of[threadIdx.x]);
}

// ---- nccl_reduce -----------------------------------------------------------------------------------------

void sums_of_all(lab::Shards shards, float** sums, unsigned block) {
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    sums[k] = lab::scratch<float>(2);
    launch_sum(shards[k], sums[k], queue_of(shards[k].device).stream, block);
  }
}

// MUTANT no_group: state=wrong kind=none diagnosis=any
// One thread calls for several ranks, one after the other, without a group.
void no_group(lab::Shards shards, float* result, unsigned block) {
  const ncclComm_t* const members = communicators(shards);
  float* sums[most_devices];
  sums_of_all(shards, sums, block);
  for (unsigned k = 0; k < shards.size(); ++k)
    ncclReduce(sums[k], result, 1, ncclFloat, ncclSum, 0, members[k], queue_of(shards[k].device).stream);
}

// MUTANT a_rank_left_out: state=wrong kind=none diagnosis=any
// The last rank does not take part.
void a_rank_left_out(lab::Shards shards, float* result, unsigned block) {
  const ncclComm_t* const members = communicators(shards);
  float* sums[most_devices];
  sums_of_all(shards, sums, block);
  ncclGroupStart();
  for (unsigned k = 0; k + 1 < shards.size(); ++k)
    ncclReduce(sums[k], result, 1, ncclFloat, ncclSum, 0, members[k], queue_of(shards[k].device).stream);
  ncclGroupEnd();
}

// MUTANT each_its_own_root: state=wrong kind=none diagnosis=any
// Every rank names itself as the one that gets the result.
void each_its_own_root(lab::Shards shards, float* result, unsigned block) {
  const ncclComm_t* const members = communicators(shards);
  float* sums[most_devices];
  sums_of_all(shards, sums, block);
  ncclGroupStart();
  for (unsigned k = 0; k < shards.size(); ++k)
    ncclReduce(sums[k], result, 1, ncclFloat, ncclSum, int(k), members[k], queue_of(shards[k].device).stream);
  ncclGroupEnd();
}

void reduced_in_another_stream(lab::Shards shards, float* result, unsigned block) {
  const ncclComm_t* const members = communicators(shards);
  float* sums[most_devices];
  for (unsigned k = 0; k < shards.size(); ++k) {
    const lab::Shard& shard = shards[k];
    cudaSetDevice(shard.device);
    sums[k] = lab::scratch<float>(1);
    const unsigned blocks = blocks_for(shard.n, block);
    float* const of_blocks = lab::scratch<float>(blocks);
    const cudaStream_t stream = queue_of(shard.device).stream;
    // MUTANT reduced_in_another_stream: state=wrong|hazard kind=race-host diagnosis=any
    // NCCL works in the default streams, which do not wait for what is in the streams that were made.
    sum_kernel<<<blocks, block, 0, stream>>>(shard.input, shard.n, of_blocks, sums[k]);
  }
  ncclGroupStart();
  for (unsigned k = 0; k < shards.size(); ++k)
    ncclReduce(sums[k], result, 1, ncclFloat, ncclSum, 0, members[k], nullptr);
  ncclGroupEnd();
}

// ---- one_kernel ------------------------------------------------------------------------------------------

using Exchange = void (*)(const float*, std::size_t, float*, float*, Mailboxes, unsigned, unsigned, unsigned);

unsigned runs_of_all = 0; // the mailboxes are the same for all mutants

template <Exchange kernel, Mailbox* (*mailbox_of)(int) = mailbox_on>
void exchange_by(lab::Shards shards, float* result, unsigned block) {
  const unsigned run = ++runs_of_all;
  Mailboxes mailboxes{};
  float* sums[most_devices];
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    mailboxes.of[k] = mailbox_of(shards[k].device);
    sums[k] = lab::scratch<float>(blocks_for(shards[k].n, block));
  }
  for (unsigned k = 0; k < shards.size(); ++k) {
    cudaSetDevice(shards[k].device);
    kernel<<<blocks_for(shards[k].n, block), block, 0, queue_of(shards[k].device).stream>>>(
        shards[k].input, shards[k].n, sums[k], result, mailboxes, k, shards.size(), run);
  }
}

// The other end, right.
__device__ float receive(const Mailboxes& mailboxes, unsigned me, unsigned run) {
  volatile Letter* const received = letter(mailboxes, me, threadIdx.x, run);
  while (received->mark != run) {
  }
  __threadfence_system();
  return received->sum;
}
__device__ void finish(float value, unsigned me, float* result) {
  const float total = warp_sum(value);
  if (me == 0 && threadIdx.x == 0) *result = total;
}

__global__ void no_fence_exchange(const float* input, std::size_t n, float* sums, float* result,
                                  Mailboxes mailboxes, unsigned me, unsigned devices, unsigned run) {
  float total, value = 0.0f;
  if (!sum_of_shard(input, n, sums, total) || threadIdx.x >= 32) return;
  if (threadIdx.x < devices) {
    volatile Letter* const sent = letter(mailboxes, threadIdx.x, me, run);
    // MUTANT letter_without_fence: state=hazard kind=fence diagnosis=any
    // Nothing keeps the mark from being seen before the sum.
    sent->sum = total;
    sent->mark = run;
    value = receive(mailboxes, me, run);
  }
  finish(value, me, result);
}

__global__ void device_fence_exchange(const float* input, std::size_t n, float* sums, float* result,
                                      Mailboxes mailboxes, unsigned me, unsigned devices, unsigned run) {
  float total, value = 0.0f;
  if (!sum_of_shard(input, n, sums, total) || threadIdx.x >= 32) return;
  if (threadIdx.x < devices) {
    volatile Letter* const sent = letter(mailboxes, threadIdx.x, me, run);
    // MUTANT fence_of_device: state=hazard kind=fence diagnosis=any
    // __threadfence() orders for the own device only; the reader is on another.
    sent->sum = total;
    __threadfence();
    sent->mark = run;
    value = receive(mailboxes, me, run);
  }
  finish(value, me, result);
}

__global__ void late_fence_exchange(const float* input, std::size_t n, float* sums, float* result,
                                    Mailboxes mailboxes, unsigned me, unsigned devices, unsigned run) {
  float total, value = 0.0f;
  if (!sum_of_shard(input, n, sums, total) || threadIdx.x >= 32) return;
  if (threadIdx.x < devices) {
    volatile Letter* const sent = letter(mailboxes, threadIdx.x, me, run);
    sent->mark = run;
    __threadfence_system();
    // MUTANT mark_before_sum: state=wrong|hazard kind=fence|race-global diagnosis=any
    // The mark is sent first.
    sent->sum = total;
    value = receive(mailboxes, me, run);
  }
  finish(value, me, result);
}

__device__ float receive_without_fence(const Mailboxes& mailboxes, unsigned me, unsigned run) {
  volatile Letter* const received = letter(mailboxes, me, threadIdx.x, run);
  while (received->mark != run) {
  }
  // MUTANT received_without_fence: state=hazard kind=fence diagnosis=any
  // Nothing keeps the sum from being read before the mark.
  return received->sum;
}
__device__ float receive_after_early_fence(const Mailboxes& mailboxes, unsigned me, unsigned run) {
  volatile Letter* const received = letter(mailboxes, me, threadIdx.x, run);
  __threadfence_system();
  while (received->mark != run) {
  }
  // MUTANT received_after_early_fence: state=hazard kind=fence diagnosis=any
  // The fence comes before the wait.
  return received->sum;
}
__device__ float receive_after_narrow_fence(const Mailboxes& mailboxes, unsigned me, unsigned run) {
  volatile Letter* const received = letter(mailboxes, me, threadIdx.x, run);
  while (received->mark != run) {
  }
  __threadfence();
  // MUTANT received_after_narrow_fence: state=hazard kind=fence diagnosis=any
  // __threadfence() orders for the own device only; the writer is on another.
  return received->sum;
}
template <float (*Receive)(const Mailboxes&, unsigned, unsigned)>
__global__ void exchange_received_by(const float* input, std::size_t n, float* sums, float* result,
                                     Mailboxes mailboxes, unsigned me, unsigned devices, unsigned run) {
  float total, value = 0.0f;
  if (!sum_of_shard(input, n, sums, total) || threadIdx.x >= 32) return;
  if (threadIdx.x < devices) {
    volatile Letter* const sent = letter(mailboxes, threadIdx.x, me, run);
    sent->sum = total;
    __threadfence_system();
    sent->mark = run;
    value = Receive(mailboxes, me, run);
  }
  finish(value, me, result);
}

__global__ void unaccessible_exchange(const float* input, std::size_t n, float* sums, float* result,
                                      Mailboxes mailboxes, unsigned me, unsigned devices, unsigned run) {
  float total, value = 0.0f;
  if (!sum_of_shard(input, n, sums, total) || threadIdx.x >= 32) return;
  if (threadIdx.x < devices) {
    volatile Letter* const sent = letter(mailboxes, threadIdx.x, me, run);
    // MUTANT only_first_has_access: state=wrong|hazard kind=peer-access diagnosis=any
    // Only the first device was given access to the others.
    sent->sum = total;
    __threadfence_system();
    sent->mark = run;
    value = receive(mailboxes, me, run);
  }
  finish(value, me, result);
}

// MUTANT waits_over_the_link: state=off-technique kind=none diagnosis=none
// Right, but letters stay with the sender, and each look at a mark goes over the link.
__global__ void waits_elsewhere(const float* input, std::size_t n, float* sums, float* result,
                                Mailboxes mailboxes, unsigned me, unsigned devices, unsigned run) {
  float total, value = 0.0f;
  if (!sum_of_shard(input, n, sums, total) || threadIdx.x >= 32) return;
  if (threadIdx.x < devices) {
    volatile Letter* const kept = letter(mailboxes, me, threadIdx.x, run);
    kept->sum = total;
    __threadfence_system();
    kept->mark = run;
    volatile Letter* const theirs = letter(mailboxes, threadIdx.x, me, run);
    while (theirs->mark != run) {
    }
    __threadfence_system();
    value = theirs->sum;
  }
  finish(value, me, result);
}

// MUTANT sums_to_the_first: state=off-technique kind=none diagnosis=none
// Right, but only the first device gets the sums; the others wait until it has read them.
__global__ void to_the_first(const float* input, std::size_t n, float* sums, float* result,
                             Mailboxes mailboxes, unsigned me, unsigned devices, unsigned run) {
  float total;
  if (!sum_of_shard(input, n, sums, total) || threadIdx.x >= 32) return;
  if (threadIdx.x == 0) {
    volatile Letter* const sent = letter(mailboxes, 0, me, run);
    sent->sum = total;
    __threadfence_system();
    sent->mark = run;
  }
  if (me == 0) {
    finish(threadIdx.x < devices ? receive(mailboxes, 0, run) : 0.0f, me, result);
    __threadfence_system();
    if (threadIdx.x > 0 && threadIdx.x < devices) letter(mailboxes, threadIdx.x, 0, run)->mark = run;
  } else if (threadIdx.x == 0) {
    while (letter(mailboxes, me, 0, run)->mark != run) {
    }
    __threadfence_system();
  }
}

__device__ Mailbox mailbox_variable;
Mailbox* mailbox_variable_on(int) {
  void* place = nullptr;
  cudaGetSymbolAddress(&place, mailbox_variable);
  return static_cast<Mailbox*>(place);
}
__global__ void through_variables(const float* input, std::size_t n, float* sums, float* result,
                                  Mailboxes mailboxes, unsigned me, unsigned devices, unsigned run) {
  float total, value = 0.0f;
  if (!sum_of_shard(input, n, sums, total) || threadIdx.x >= 32) return;
  if (threadIdx.x < devices) {
    volatile Letter* const sent = letter(mailboxes, threadIdx.x, me, run);
    // MUTANT mailbox_is_variable: state=wrong|hazard kind=peer-access diagnosis=any
    // Right, were each device's mailbox not a variable: those are reached on their own device only.
    sent->sum = total;
    __threadfence_system();
    sent->mark = run;
    value = receive(mailboxes, me, run);
  }
  finish(value, me, result);
}

int main(int argc, char** argv) {
  using lab::Rung;
  using lab::Variant;
  const auto of = [](const char* name, const char* rung, const Variant& variant) {
    Rung mutant = lab::promised("12_many_gpus", rung);
    mutant.name = name;
    return mutant.on(variant);
  };
  const auto copies = [of](const char* name, void (*function)(lab::Shards, float*, unsigned)) {
    return of(name, "peer_copies", function);
  };
  const auto reads = [of](const char* name, void (*function)(lab::Shards, float*, unsigned),
                          void (*set_up)(lab::Shards) = let_first_reach_others) {
    return of(name, "peer_reads", Variant(function).set_up_by(set_up));
  };
  const auto exchanges = [of](const char* name, void (*function)(lab::Shards, float*, unsigned),
                              void (*set_up)(lab::Shards) = let_all_reach_all) {
    return of(name, "one_kernel", Variant(function).set_up_by(set_up));
  };
  return lab::main(
      argc, argv,
      {copies("no_wait", no_wait),
       copies("record_before_copy", record_before_copy),
       copies("wait_before_record", wait_before_record),
       copies("copy_in_another_stream", copy_in_another_stream),
       copies("one_place_for_all", one_place_for_all),
       copies("device_not_set", device_not_set),
       copies("device_set_too_late", device_set_too_late),
       copies("added_up_elsewhere", added_up_elsewhere),
       copies("length_of_the_first", length_of_the_first),
       copies("last_left_out", last_left_out),
       copies("host_waits", host_waits),
       copies("shards_copied", shards_copied),
       copies("sum_in_input", sum_in_input),
       reads("no_access", read_by<read_without_access>, nullptr),
       reads("access_the_wrong_way_round", read_by<read_with_access_of_others>, let_others_reach_first),
       reads("read_too_soon", read_by<read_too_soon, false>),
       reads("read_by_every_lane", read_by<read_twice>),
       reads("added_by_atomics", read_by<add_by_atomics>),
       of("no_group", "nccl_reduce", no_group),
       of("a_rank_left_out", "nccl_reduce", a_rank_left_out),
       of("each_its_own_root", "nccl_reduce", each_its_own_root),
       of("reduced_in_another_stream", "nccl_reduce", reduced_in_another_stream),
       exchanges("letter_without_fence", exchange_by<no_fence_exchange>),
       exchanges("fence_of_device", exchange_by<device_fence_exchange>),
       exchanges("mark_before_sum", exchange_by<late_fence_exchange>),
       exchanges("received_without_fence", exchange_by<exchange_received_by<receive_without_fence>>),
       exchanges("received_after_early_fence", exchange_by<exchange_received_by<receive_after_early_fence>>),
       exchanges("received_after_narrow_fence",
                 exchange_by<exchange_received_by<receive_after_narrow_fence>>),
       exchanges("only_first_has_access", exchange_by<unaccessible_exchange>, let_first_reach_others),
       exchanges("waits_over_the_link", exchange_by<waits_elsewhere>),
       exchanges("sums_to_the_first", exchange_by<to_the_first>),
       exchanges("mailbox_is_variable", exchange_by<through_variables, mailbox_variable_on>)});
}
