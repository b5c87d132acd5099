// Lab 12's last rung: how processes become members of a group, and what each of them calls.
#include "promises/rung.hpp"

#include <cstring>

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

// ---- how they join ---------------------------------------------------------------------------------------

// What a variable that nobody has written may hold.
ncclUniqueId some_id() {
  ncclUniqueId id;
  std::memset(&id, 0x5a, sizeof id);
  return id;
}

ncclComm_t id_not_broadcast(int rank, int ranks) {
  ncclComm_t member = nullptr;
  ncclUniqueId id = some_id();
  if (rank == 0) ncclGetUniqueId(&id);
  // MUTANT id_not_broadcast: state=wrong kind=reason diagnosis=none
  // The id stays on rank 0.
  ncclCommInitRank(&member, ranks, id, rank);
  return member;
}

ncclComm_t id_from_the_wrong_root(int rank, int ranks) {
  ncclComm_t member = nullptr;
  ncclUniqueId id = some_id();
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 1, MPI_COMM_WORLD);
  // MUTANT id_from_the_wrong_root: state=wrong kind=reason diagnosis=none
  // Rank 1 hands on what it has, which is no id.
  ncclCommInitRank(&member, ranks, id, rank);
  return member;
}

ncclComm_t part_of_the_id(int rank, int ranks) {
  ncclComm_t member = nullptr;
  ncclUniqueId id = some_id();
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(void*), MPI_BYTE, 0, MPI_COMM_WORLD);
  // MUTANT part_of_the_id: state=wrong kind=reason diagnosis=none
  // The id is broadcast as if it were a pointer: 8 of its 128 bytes.
  ncclCommInitRank(&member, ranks, id, rank);
  return member;
}

ncclComm_t each_its_own_id(int, int ranks) {
  ncclComm_t member = nullptr;
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // MUTANT each_its_own_id: state=wrong kind=reason diagnosis=none
  // Every rank gets an id and waits for others with the same one.
  ncclCommInitRank(&member, ranks, id, rank);
  return member;
}

ncclUniqueId id_of_all(int rank) {
  ncclUniqueId id = some_id();
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  return id;
}

ncclComm_t rank_and_ranks_swapped(int rank, int ranks) {
  ncclComm_t member = nullptr;
  const ncclUniqueId id = id_of_all(rank);
  // MUTANT rank_and_ranks_swapped: state=wrong kind=reason diagnosis=none
  // The two numbers are given the other way round.
  ncclCommInitRank(&member, rank, id, ranks);
  return member;
}

ncclComm_t all_are_rank_0(int rank, int ranks) {
  ncclComm_t member = nullptr;
  const ncclUniqueId id = id_of_all(rank);
  // MUTANT all_are_rank_0: state=wrong kind=reason diagnosis=none
  // Every process says that it is rank 0.
  ncclCommInitRank(&member, ranks, id, 0);
  return member;
}

ncclComm_t one_too_many(int rank, int ranks) {
  ncclComm_t member = nullptr;
  const ncclUniqueId id = id_of_all(rank);
  // MUTANT one_too_many: state=wrong kind=reason diagnosis=none
  // The group waits for a rank that does not exist.
  ncclCommInitRank(&member, ranks + 1, id, rank);
  return member;
}

ncclComm_t all_on_device_0(int rank, int ranks) {
  ncclComm_t member = nullptr;
  const ncclUniqueId id = id_of_all(rank);
  cudaSetDevice(0);
  // MUTANT all_on_device_0: state=wrong kind=reason diagnosis=none
  // The device that was in use is left for device 0, by every rank.
  ncclCommInitRank(&member, ranks, id, rank);
  return member;
}

ncclComm_t rank_0_joins(int rank, int ranks) {
  ncclComm_t member = nullptr;
  const ncclUniqueId id = id_of_all(rank);
  // MUTANT only_rank_0_joins: state=wrong kind=reason diagnosis=none
  // The other ranks never call it.
  if (rank == 0) ncclCommInitRank(&member, ranks, id, rank);
  return member;
}

// ---- what they call --------------------------------------------------------------------------------------

using Join = ncclComm_t (*)(int, int);

// The solution's, as a member that joined in this way.
template <Join join_so>
void joined_by(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join_so(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  float* const sum = lab::scratch<float>(1);
  launch_sum(mine, sum, stream, block);
  ncclReduce(sum, result, 1, ncclFloat, ncclSum, 0, member, stream);
}

void only_rank_0_reduces(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  float* const sum = lab::scratch<float>(1);
  launch_sum(mine, sum, stream, block);
  // MUTANT only_rank_0_reduces: state=wrong kind=reason diagnosis=none
  // The rank that gets the result calls ncclReduce, and no other does.
  if (rank == 0) ncclReduce(sum, result, 1, ncclFloat, ncclSum, 0, member, stream);
}

void all_but_rank_0_reduce(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  float* const sum = lab::scratch<float>(1);
  launch_sum(mine, sum, stream, block);
  // MUTANT all_but_rank_0_reduce: state=wrong kind=reason diagnosis=none
  // The ranks that send call ncclReduce, and the one that gets the result does not.
  if (rank != 0) ncclReduce(sum, result, 1, ncclFloat, ncclSum, 0, member, stream);
}

void counts_differ(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  float* const sum = lab::scratch<float>(most_devices);
  launch_sum(mine, sum, stream, block);
  const std::size_t count = mine.n == 0 || rank > 0 ? 1 : 2;
  float* const into = lab::scratch<float>(2);
  // MUTANT counts_differ: state=wrong kind=reason diagnosis=none
  // Rank 0 reduces two floats, the others one.
  ncclReduce(sum, count == 1 ? result : into, count, ncclFloat, ncclSum, 0, member, stream);
}

void each_is_the_root(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  float* const sum = lab::scratch<float>(1);
  launch_sum(mine, sum, stream, block);
  // MUTANT each_is_the_root: state=wrong kind=reason diagnosis=none
  // Every rank names itself as the one that gets the result.
  ncclReduce(sum, result, 1, ncclFloat, ncclSum, rank, member, stream);
}

// MUTANT result_on_rank_1: state=wrong kind=none diagnosis=never-written
// The result is on rank 1; rank 0 is the one that is asked.
void result_on_rank_1(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  float* const sum = lab::scratch<float>(1);
  launch_sum(mine, sum, stream, block);
  ncclReduce(sum, result, 1, ncclFloat, ncclSum, 1, member, stream);
}

// MUTANT bits_as_integers: state=wrong kind=none diagnosis=none
// The floats' bits are added up as integers.
void bits_as_integers(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  float* const sum = lab::scratch<float>(1);
  launch_sum(mine, sum, stream, block);
  ncclReduce(sum, result, 1, ncclInt32, ncclSum, 0, member, stream);
}

// MUTANT largest_sum: state=wrong kind=none diagnosis=any
// The largest of the ranks' sums is the result.
void largest_sum(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  float* const sum = lab::scratch<float>(1);
  launch_sum(mine, sum, stream, block);
  ncclReduce(sum, result, 1, ncclFloat, ncclMax, 0, member, stream);
}

__global__ void add_kernel(float* result, const float* sum) {
  *result += *sum;
}

// MUTANT own_sum_twice: state=wrong kind=none diagnosis=any
// Rank 0 adds its own sum to the result, which has it already.
void own_sum_twice(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  float* const sum = lab::scratch<float>(1);
  launch_sum(mine, sum, stream, block);
  ncclReduce(sum, result, 1, ncclFloat, ncclSum, 0, member, stream);
  if (rank == 0) add_kernel<<<1, 1, 0, stream>>>(result, sum);
}

void default_stream(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  float* const sum = lab::scratch<float>(1);
  const unsigned blocks = blocks_for(mine.n, block);
  float* const of_blocks = lab::scratch<float>(blocks);
  // MUTANT default_stream: state=wrong|hazard kind=race-host diagnosis=any
  // NCCL works in the default stream, which does not wait for the stream that has the sum.
  sum_kernel<<<blocks, block, 0, queue_of(mine.device).stream>>>(mine.input, mine.n, of_blocks, sum);
  ncclReduce(sum, result, 1, ncclFloat, ncclSum, 0, member, nullptr);
}

void reduced_before_the_sum(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  float* const sum = lab::scratch<float>(1);
  // MUTANT reduced_before_the_sum: state=wrong|hazard kind=unwritten-copy diagnosis=any
  // The sum is launched behind the call that needs it.
  ncclReduce(sum, result, 1, ncclFloat, ncclSum, 0, member, stream);
  launch_sum(mine, sum, stream, block);
}

// MUTANT first_elements: state=wrong kind=none diagnosis=any
// NCCL reduces what lies at the beginning of each shard, instead of the shards' sums.
void first_elements(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  launch_sum(mine, lab::scratch<float>(1), stream, block);
  ncclReduce(mine.input, result, mine.n > 0 ? 1 : 0, ncclFloat, ncclSum, 0, member, stream);
}

// MUTANT all_by_rank_0: state=off-technique kind=none diagnosis=none
// Right, but each rank sends its elements to rank 0, which adds them all up.
void all_by_rank_0(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  unsigned long long n = mine.n;
  unsigned long long* const counts = lab::scratch<unsigned long long>(1);
  cudaMemcpy(counts, &n, sizeof n, cudaMemcpyHostToDevice);
  unsigned long long* const of_all = lab::scratch<unsigned long long>(most_devices);
  ncclAllGather(counts, of_all, 1, ncclUint64, member, stream);
  unsigned long long lengths[most_devices];
  cudaMemcpyAsync(lengths, of_all, ranks * sizeof *lengths, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  if (rank > 0) {
    ncclSend(mine.input, mine.n, ncclFloat, 0, member, stream);
    return;
  }
  float* const sums = lab::scratch<float>(ranks);
  launch_sum(mine, sums, stream, block);
  for (int from = 1; from < ranks; ++from) {
    float* const here = lab::scratch<float>(lengths[from] + 1);
    ncclRecv(here, lengths[from], ncclFloat, from, member, stream);
    launch_sum({mine.device, here, lengths[from]}, sums + from, stream, block);
  }
  add_up_kernel<<<1, 32, 0, stream>>>(sums, ranks, result);
}

int main(int argc, char** argv) {
  const auto of = [](const char* name,
                     void (*function)(const lab::Shard&, float*, int, int, unsigned)) -> lab::Rung {
    lab::Rung mutant = lab::promised("12_many_gpus", "rank_per_gpu");
    mutant.name = name;
    return mutant.on({function, {begin_processes, broadcast, end_processes}});
  };
  return lab::main(argc, argv,
                   {of("id_not_broadcast", joined_by<id_not_broadcast>),
                    of("id_from_the_wrong_root", joined_by<id_from_the_wrong_root>),
                    of("part_of_the_id", joined_by<part_of_the_id>),
                    of("each_its_own_id", joined_by<each_its_own_id>),
                    of("rank_and_ranks_swapped", joined_by<rank_and_ranks_swapped>),
                    of("all_are_rank_0", joined_by<all_are_rank_0>),
                    of("one_too_many", joined_by<one_too_many>),
                    of("all_on_device_0", joined_by<all_on_device_0>),
                    of("only_rank_0_joins", joined_by<rank_0_joins>),
                    of("only_rank_0_reduces", only_rank_0_reduces),
                    of("all_but_rank_0_reduce", all_but_rank_0_reduce),
                    of("counts_differ", counts_differ),
                    of("each_is_the_root", each_is_the_root),
                    of("result_on_rank_1", result_on_rank_1),
                    of("bits_as_integers", bits_as_integers),
                    of("largest_sum", largest_sum),
                    of("own_sum_twice", own_sum_twice),
                    of("default_stream", default_stream),
                    of("reduced_before_the_sum", reduced_before_the_sum),
                    of("first_elements", first_elements),
                    of("all_by_rank_0", all_by_rank_0)});
}
