// What every program here prints at the end of a step: a name, and whether all values match the host's.
#pragma once

#include <cstdio>
#include <cuda_runtime.h>
#include <functional>
#include <vector>

// Runs `launch` on zeroed words of device memory and counts those that differ from what `expected` says.
inline void check(const char* name, unsigned words, const std::function<void(int*)>& launch,
                  const std::function<int(unsigned)>& expected) {
  int* memory = nullptr;
  cudaMalloc(&memory, words * sizeof(int));
  cudaMemset(memory, 0, words * sizeof(int));
  launch(memory);
  cudaError_t error = cudaDeviceSynchronize();
  std::vector<int> found(words);
  cudaMemcpy(found.data(), memory, words * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(memory);
  unsigned wrong = 0, first = 0;
  for (unsigned i = words; i-- > 0;)
    if (found[i] != expected(i)) ++wrong, first = i;
  if (error != cudaSuccess)
    std::printf("%s: %s\n", name, cudaGetErrorName(error));
  else if (wrong)
    std::printf("%s: %u of %u wrong, the first [%u] = %d, not %d\n", name, wrong, words, first, found[first],
                expected(first));
  else
    std::printf("%s: right\n", name);
}
