// Built with -rdc=true from two files, which use each other's device functions, variables and kernels.
#include "../show.hpp"

extern __device__ int shared_table[3];
__device__ int third(const int* values);
extern __managed__ int from_other;
typedef int (*Operation)(int, int);
extern __device__ Operation operation;
static __device__ int same_name() {
  return 100;
} // the other file has one too

__global__ void use_other(int* out) {
  *out = third(shared_table) + same_name() + operation(20, 3);
}
__global__ void defined_in_other(int* out);

int main() {
  int* out;
  cudaMallocManaged(&out, sizeof *out);
  use_other<<<1, 1>>>(out);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(*out);
  defined_in_other<<<1, 1>>>(out);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(*out);
  SHOW_VALUE(from_other);
  int table[3] = {};
  SHOW(cudaMemcpyFromSymbol(table, shared_table, sizeof table));
  SHOW_VALUE(table[2]);
  // What it was compiled for, though NVIDIA's device runtime, which is linked in, has code for all there are.
  constexpr int compiled_for[] = {__CUDA_ARCH_LIST__};
  cudaFuncAttributes attributes;
  SHOW(cudaFuncGetAttributes(&attributes, use_other));
  SHOW_VALUE(attributes.ptxVersion * 10 == compiled_for[0]);
}
