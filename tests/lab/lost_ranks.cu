// Lab 12's last rung with a rank that is lost: it crashes, exits, hangs or never comes. Each in a process
// that mpirun starts; test_ranks.py says what is to be told of it.
#include "promises/rung.hpp"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <unistd.h>

// What is given in the lab, and what is right here, is the solution's; its main() is of no use.
namespace lab {
inline int main_of_the_solution(int, char**, std::initializer_list<Implementation>) {
  return 0;
}
} // namespace lab
#define main main_of_the_solution
#include "../../solutions/12_many_gpus/many_gpus.cu"
#undef main

__global__ void out_of_bounds(float* sum) {
  sum[1 << 28] = 1.0f; // LINE out_of_bounds
}

__global__ void endless(volatile float* sum) {
  while (sum[0] < 1.0f) { // LINE endless
  }
}

using Lost = void (*)(float* sum, cudaStream_t stream);

// The solution's, but that one rank does this before it calls NCCL.
template <int which, Lost lost>
void lose(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  static const ncclComm_t member = join(rank, ranks);
  const cudaStream_t stream = queue_of(mine.device).stream;
  float* const sum = lab::scratch<float>(1);
  launch_sum(mine, sum, stream, block);
  if (rank == which && mine.n > 0) lost(sum, stream);
  ncclReduce(sum, result, 1, ncclFloat, ncclSum, 0, member, stream);
}

volatile std::uintptr_t nowhere = 64; // which the compiler cannot know
void crash(float*, cudaStream_t) {
  *reinterpret_cast<volatile int*>(nowhere) = 1; // LINE crash
}
void abort_it(float*, cudaStream_t) {
  std::abort(); // LINE abort
}
void touch_device_memory(float* sum, cudaStream_t) {
  *static_cast<volatile float*>(sum) = 1.0f; // LINE touch
}
void exit_3(float*, cudaStream_t) {
  std::exit(3);
}
void exit_0(float*, cudaStream_t) {
  std::exit(0);
}
void exit_unseen(float*, cudaStream_t) {
  _exit(5);
}
void killed(float*, cudaStream_t) {
  kill(getpid(), SIGKILL);
}
void hang(float*, cudaStream_t) {
  for (;;) sleep(1); // LINE hang
}
void spin(float*, cudaStream_t) {
  for (volatile int i = 0; i >= 0; i = (i + 1) % 1000) { // LINE spin
  }
}
void fault_in_kernel(float* sum, cudaStream_t stream) {
  out_of_bounds<<<1, 1, 0, stream>>>(sum);
}
void endless_kernel(float* sum, cudaStream_t stream) {
  cudaMemsetAsync(sum, 0, sizeof(float), stream);
  endless<<<1, 1, 0, stream>>>(sum);
}

// Rank 1 never joins: it has something else to do.
void never_joins(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  if (rank == 1)
    for (;;) pause(); // LINE never_joins
  rank_per_gpu(mine, result, rank, ranks, block);
}

int main(int argc, char** argv) {
  const auto of = [](const char* name,
                     void (*function)(const lab::Shard&, float*, int, int, unsigned)) -> lab::Rung {
    lab::Rung rung = lab::promised("12_many_gpus", "rank_per_gpu");
    rung.name = name;
    return rung.on({function, {begin_processes, broadcast, end_processes}});
  };
  return lab::main(argc, argv,
                   {of("crash", lose<1, crash>), of("crash_of_rank_0", lose<0, crash>),
                    of("abort", lose<1, abort_it>), of("touch", lose<1, touch_device_memory>),
                    of("exit_3", lose<1, exit_3>), of("exit_0", lose<1, exit_0>),
                    of("exit_of_rank_0", lose<0, exit_3>), of("exit_unseen", lose<1, exit_unseen>),
                    of("killed", lose<1, killed>), of("hang", lose<1, hang>),
                    of("hang_of_rank_0", lose<0, hang>), of("spin", lose<1, spin>),
                    of("fault_in_kernel", lose<1, fault_in_kernel>),
                    of("endless_kernel", lose<1, endless_kernel>), of("never_joins", never_joins)});
}
