// Lab 01: the naive sum.
//
// The task is to add up n floats. The GPU starts one thread per float, and each thread adds its own element
// to the single result. Two threads that read, add and write the same number at the same time would lose
// additions, so each adds with an atomic: the hardware does read, add and write as one step, one thread after
// another. That is right for every n, and as slow as a GPU can be: all threads queue for one address.
#include "lab.hpp"

// One thread per element.
__global__ void naive_atomic_kernel(const float* input, float* result, std::size_t n) {
  // BEGIN naive_atomic
  // TODO: Compute the index of this thread's own element from the block index, the block size and the thread
  // index (it needs 64 bits, as n does), and add that element to *result with one atomic addition, so that
  // none is lost. The last block may have threads beyond the end of the input: they do nothing. (2 lines)
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(result, input[i]);
  // END naive_atomic
}

void naive_atomic(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float)); // *result may hold anything at first; all bits 0 is 0.0f
  if (n == 0) return;                   // a launch needs at least one block
  naive_atomic_kernel<<<lab::ceil_div(n, block), block>>>(input, result, n);
}

int main(int argc, char** argv) {
  return lab::main(argc, argv, {{"naive_atomic", naive_atomic}});
}
