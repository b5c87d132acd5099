// Compiled with --default-stream per-thread: stream 0 is the thread's own stream, and other streams do not
// wait for it.
#include "cases.hpp"

__global__ void fill(int* out, int count, int value) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = value;
}

CASE(stream_0_and_a_blocking_stream,
     "race-host: fill.* in stream 3 writes .* fill.* in the thread's default stream writes") {
  int* a;
  cudaStream_t stream;
  OK(cudaMalloc(&a, 400));
  OK(cudaStreamCreate(&stream));
  fill<<<1, 64>>>(a, 100, 1);            // there
  fill<<<1, 64, 0, stream>>>(a, 100, 2); // here
}
CASE(stream_0_waited_for, "clean") {
  int* a;
  cudaStream_t stream;
  OK(cudaMalloc(&a, 400));
  OK(cudaStreamCreate(&stream));
  fill<<<1, 64>>>(a, 100, 1);
  OK(cudaStreamSynchronize(0));
  fill<<<1, 64, 0, stream>>>(a, 100, 2);
}
CASE(stream_0_and_the_legacy_one, "clean") {
  int* a;
  OK(cudaMalloc(&a, 400));
  fill<<<1, 64>>>(a, 100, 1);
  fill<<<1, 64, 0, cudaStreamLegacy>>>(a, 100, 2);
}

int main(int argc, char** argv) {
  return run_case(argc, argv);
}
