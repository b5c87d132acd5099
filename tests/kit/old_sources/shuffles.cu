// Shuffles and votes without a mask.
#include <cstdio>

__device__ int sum_of_warp(int value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor(value, distance);
  return value;
}

__global__ void exchange(int* results, double* last) {
  const int lane = threadIdx.x;
  int value = sum_of_warp(lane);             // 496
  value += __shfl(lane, 7);                  // 7
  value += __shfl_up(lane, 1) == lane - 1;   // 1, but for lane 0
  value += __shfl_down(lane, 1) == lane + 1; // 1, but for lane 31
  value += 1000 * (__any(lane == 3) != 0) + 2000 * (__all(lane < 32) != 0);
  if (lane % 2) value += __popc(__ballot(lane < 8)); // 4: of the lanes that are here
  results[lane] = value;
  *last = __shfl(0.5 * lane, 31);
}

int main() {
  int *results, host[32];
  double *last, half;
  cudaMalloc(&results, sizeof host);
  cudaMalloc(&last, sizeof half);
  exchange<<<1, 32>>>(results, last);
  cudaMemcpy(host, results, sizeof host, cudaMemcpyDeviceToHost);
  cudaMemcpy(&half, last, sizeof half, cudaMemcpyDeviceToHost);
  std::printf("%d %d %d %d %g\n", host[0], host[1], host[30], host[31], half);
}
