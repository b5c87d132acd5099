// Built with --default-stream per-thread: the program calls the _ptds and _ptsz names.
#include "show.hpp"

__global__ void increment(int* value) {
  ++*value;
}

int main() {
  int *value, host = 3;
  cudaMalloc(&value, sizeof *value);
  SHOW(cudaMemcpy(value, &host, sizeof host, cudaMemcpyHostToDevice));
  increment<<<1, 1>>>(value);
  SHOW(cudaMemcpyAsync(&host, value, sizeof host, cudaMemcpyDeviceToHost));
  SHOW(cudaStreamSynchronize(0));
  SHOW_VALUE(host);
  SHOW(cudaMemset(value, 0, sizeof *value));
  SHOW(cudaMemcpy(&host, value, sizeof host, cudaMemcpyDeviceToHost));
  SHOW_VALUE(host);
  SHOW(cudaFree(value));
}
