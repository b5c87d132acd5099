// A fault in a kernel stays: every later call returns it, until the device is reset.
#include "show.hpp"

#include <cstdlib>

__global__ void write_to(int* where) {
  *where = 1;
}

struct AtExit {
  ~AtExit() { SHOW(cudaDeviceSynchronize()); } // after main, and after the runtime's own exit handlers
} at_exit;

int main() {
  int *memory, host = 0;
  cudaMalloc(&memory, 4);
  write_to<<<1, 1>>>(memory);
  SHOW(cudaDeviceSynchronize());
  write_to<<<1, 1>>>(nullptr);
  SHOW(cudaDeviceSynchronize());
  SHOW(cudaGetLastError());
  SHOW(cudaGetLastError());
  SHOW(cudaPeekAtLastError());
  SHOW(cudaMemcpy(&host, memory, 4, cudaMemcpyDeviceToHost));
  SHOW(cudaMalloc(&memory, 4));
  SHOW(cudaFree(memory));
  write_to<<<1, 1>>>(memory);
  SHOW(cudaGetLastError());
  SHOW(cudaDeviceReset());
  SHOW(cudaGetLastError());
  SHOW(cudaMalloc(&memory, 4));
  write_to<<<1, 1>>>(memory);
  SHOW(cudaMemcpy(&host, memory, 4, cudaMemcpyDeviceToHost));
  SHOW_VALUE(host);
}
