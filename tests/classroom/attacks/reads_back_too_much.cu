// The kernel copies the input to where the host may read, more of it than it may.
// lab: 05_grid_stride
// expect: wrong
// BEGIN thread_sums
for (std::size_t i = threadIdx.x; i < n && i < 64 * blockDim.x; i += blockDim.x) thread_sums[i] = input[i];
// END thread_sums
// BEGIN thread_sums
for (unsigned k = 0; k < 64; ++k) {
  cudaMemcpy(on_cpu, sums + k * block, block * sizeof(float), cudaMemcpyDeviceToHost);
  for (unsigned t = 0; t < block; ++t) total += on_cpu[t];
}
// END thread_sums
