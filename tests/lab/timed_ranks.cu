// Runs rank_per_gpu as --time does on GPUs, on emulated devices, where no lab shows a time. Each rank says
// how often it ran, and rank 0 whether the result was right. Started by mpirun; `fail` as the last word: a
// run of rank 1 fails.
#include "input/sequence.hpp"
#include "promises/rung.hpp"
#include "run/device.hpp"
#include "run/many_gpus/ranks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

namespace lab {
inline int main_of_the_solution(int, char**, std::initializer_list<Implementation>) {
  return 0;
}
} // namespace lab
#define main main_of_the_solution
#include "../../solutions/12_many_gpus/many_gpus.cu"
#undef main

int runs = 0;
float* last_result = nullptr;
bool is_to_fail = false;

void counted(const lab::Shard& mine, float* result, int rank, int ranks, unsigned block) {
  rank_per_gpu(mine, result, rank, ranks, block);
  last_result = result;
  if (is_to_fail && rank == 1 && runs == 3) cudaMemcpy(nullptr, result, 4, cudaMemcpyDeviceToHost);
  ++runs;
}

int main(int argc, char** argv) {
  is_to_fail = argc > 1 && std::strcmp(argv[1], "fail") == 0;
  lab::open_device(lab::Choice::emulator, argv);
  const lab::Variant variant(counted, {begin_processes, broadcast, end_processes});
  lab::join_ranks(variant.processes, 10);
  if (lab::rank() > 0) {
    lab::serve(variant);
    std::printf("rank %d: %d runs\n", lab::rank(), runs);
    return 0;
  }
  try {
    const lab::Sequence input =
        lab::make_sequence(lab::Type::float32, lab::Operator::add, lab::Kind::exact, 10007, 42);
    lab::RunsTogether together(variant, input, 256);
    double shortest = 1e9;
    for (int i = 0; i < 20; ++i) shortest = std::min(shortest, together.once());
    float result = 0;
    cudaMemcpy(&result, last_result, sizeof result, cudaMemcpyDeviceToHost);
    const bool is_right = result == float(lab::reduce(input, 0, input.n).value);
    std::printf("%s, %s\n", is_right ? "right" : "wrong", shortest > 0 ? "takes time" : "takes no time");
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 3;
  }
  std::printf("rank 0: %d runs\n", runs);
  std::fflush(stdout);
  lab::dismiss_ranks();
}
