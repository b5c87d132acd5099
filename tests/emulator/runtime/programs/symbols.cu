// Device variables found by their host names: initialised, constant, managed, static.
#include "show.hpp"

__device__ int table[4] = {10, 20, 30, 40};
__device__ int* pointer_to_third = &table[2];
__constant__ float weights[3] = {0.5f, 1.5f, 2.5f};
__managed__ int counter = 7;
static __device__ double hidden = 3.25;
int ordinary;

__global__ void use_all(double* out) {
  if (threadIdx.x == 0) ++counter;
  if (threadIdx.x < 4) table[threadIdx.x] *= 2;
  __syncthreads();
  if (threadIdx.x == 0) out[0] = weights[0] + weights[1] + weights[2] + *pointer_to_third + hidden;
}

int main() {
  // The host reads a managed variable before anything has been launched.
  SHOW_VALUE(counter);
  counter = 41;
  double* out;
  int values[4];
  float three[3];
  cudaMallocManaged(&out, sizeof *out);
  use_all<<<1, 32>>>(out);
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(counter);
  std::printf("%g\n", *out);
  SHOW(cudaMemcpyFromSymbol(values, table, sizeof values));
  std::printf("%d %d %d %d\n", values[0], values[1], values[2], values[3]);
  values[0] = -1;
  SHOW(cudaMemcpyToSymbol(table, values, 4, 8));
  SHOW(cudaMemcpyFromSymbol(values, table, 8, 8, cudaMemcpyDeviceToHost));
  std::printf("%d %d\n", values[0], values[1]);
  three[0] = three[1] = three[2] = 1;
  SHOW(cudaMemcpyToSymbol(weights, three, sizeof three));
  use_all<<<1, 32>>>(out);
  SHOW(cudaDeviceSynchronize());
  std::printf("%g\n", *out);

  SHOW(cudaMemcpyToSymbol(table, values, 4, 16));
  SHOW(cudaMemcpyToSymbol(table, values, 20));
  SHOW(cudaMemcpyToSymbol(table, values, 4, 0, cudaMemcpyDeviceToHost));
  SHOW(cudaMemcpyFromSymbol(values, ordinary, 4));
  size_t size;
  void* address;
  SHOW(cudaGetSymbolSize(&size, weights));
  SHOW_VALUE(size);
  SHOW(cudaGetSymbolAddress(&address, table));
  SHOW(cudaMemcpy(values, address, sizeof values, cudaMemcpyDeviceToHost));
  std::printf("%d %d %d %d\n", values[0], values[1], values[2], values[3]);
  SHOW(cudaGetSymbolAddress(&address, ordinary));
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, &counter);
  SHOW_VALUE(attributes.type == cudaMemoryTypeManaged);
  cudaFree(out);

  // A reset restores the initial values.
  SHOW(cudaDeviceReset());
  SHOW(cudaMemcpyFromSymbol(values, table, sizeof values));
  std::printf("%d %d %d %d\n", values[0], values[1], values[2], values[3]);
}
