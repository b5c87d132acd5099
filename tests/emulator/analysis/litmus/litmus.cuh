// What the litmus programs share. Each is a kernel of its own on the same memory, with a comment that says
// what must be reported about it:
//
//   // LITMUS name: right
//   // LITMUS name: race-global          the kinds that count, with | between
//   __global__ void name(int* m) { ... }  lines with the comment HERE: one of them has to be named
//   RUN(name, blocks, threads)
//
// A line `// SAYS words` gives words that each message about the program contains.
//
// LITMUS_BOTH stands for two programs, name_plain and name_volatile; `at data` names lines with the comment
// AT data, which several programs share (release_acquire.cu). LITMUS_IN_BOTH_ORDERS: whether the two threads
// race depends on who comes first, so it has to be reported where both orders are tried.
//
// run.py runs all of them under several schedules; the reports must not depend on which thread comes first.
#pragma once

#include "warpfold_emulator.h"

#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>

#include <cstdio>
#include <dlfcn.h>
#include <vector>

namespace cg = cooperative_groups;

constexpr int words = 1 << 14; // at which `m` points, all 0

struct Litmus {
  const char* name;
  void (*run)(int* m);
};
inline std::vector<Litmus>& all() {
  static std::vector<Litmus> list;
  return list;
}
struct Enter {
  Enter(const char* name, void (*run)(int*)) { all().push_back({name, run}); }
};
#define RUN(name, blocks, threads)                                                                           \
  static Enter enter_##name(#name, [](int* m) { name<<<blocks, threads>>>(m); });
#define RUN_TOGETHER(name, blocks, threads)                                                                  \
  static Enter enter_##name(#name, [](int* m) {                                                              \
    void* arguments[] = {&m};                                                                                \
    cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(name), blocks, threads, arguments);            \
  });

// The report of each program, one after another, as a list in JSON.
inline int run_all() {
  const auto reset =
      reinterpret_cast<decltype(&warpfold_emulator_reset)>(dlsym(RTLD_DEFAULT, "warpfold_emulator_reset"));
  const auto report =
      reinterpret_cast<decltype(&warpfold_emulator_report)>(dlsym(RTLD_DEFAULT, "warpfold_emulator_report"));
  if (!reset || !report) return std::fprintf(stderr, "runs on the emulator only\n"), 2;
  int* m = nullptr;
  if (cudaMalloc(&m, words * sizeof(int))) return 1;
  const char* separator = "[";
  for (const Litmus& litmus : all()) {
    cudaMemset(m, 0, words * sizeof(int));
    reset();
    litmus.run(m);
    const cudaError_t error = cudaDeviceSynchronize();
    std::printf("%s{\"name\": \"%s\", \"error\": \"%s\", \"report\": %s}", separator, litmus.name,
                error ? cudaGetErrorString(error) : "", report());
    separator = ",\n";
  }
  std::printf("]\n");
  return cudaFree(m) ? 1 : 0;
}

template <cuda::thread_scope Scope = cuda::thread_scope_device>
__device__ cuda::atomic_ref<int, Scope> ref(int* word) {
  return cuda::atomic_ref<int, Scope>(*word);
}
__device__ inline int look(int* word) { // in a loop, this polls
  return *(volatile int*)word;
}
__device__ inline void take(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
}
