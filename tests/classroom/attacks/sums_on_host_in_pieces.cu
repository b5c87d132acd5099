// In the rung that may read a few sums back, reads all of the input instead.
// lab: 05_grid_stride
// expect: wrong
// BEGIN thread_sums
thread_sums[threadIdx.x] = input[0];
// END thread_sums
// BEGIN thread_sums
total = 0;
for (std::size_t i = 0; i < n; ++i) {
  float one = 0;
  cudaMemcpy(&one, input + i, sizeof one, cudaMemcpyDeviceToHost);
  total += one;
}
// END thread_sums
