// Advice and prefetches that name a device by its number.
#include <cstdio>

__global__ void twice(int* values) {
  values[threadIdx.x] *= 2;
}

int main() {
  int* values;
  cudaMallocManaged(&values, 32 * sizeof *values);
  for (int i = 0; i < 32; ++i) values[i] = i;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  std::printf("%d", cudaMemAdvise(values, 128, cudaMemAdviseSetPreferredLocation, 0));
  std::printf(" %d", cudaMemAdvise(values, 128, cudaMemAdviseSetAccessedBy, cudaCpuDeviceId));
  std::printf(" %d", cudaMemPrefetchAsync(values, 128, 0, stream));
  twice<<<1, 32, 0, stream>>>(values);
  std::printf(" %d", cudaMemPrefetchAsync(values, 128, cudaCpuDeviceId, stream));
  const cudaMemLocation location = {cudaMemLocationTypeDevice, 0};
  std::printf(" %d", cudaMemPrefetchAsync_v2(values, 128, location, 0, stream));
  std::printf(" %d", cudaMemAdvise_v2(values, 128, cudaMemAdviseSetReadMostly, location));
  std::printf(" %d", cudaMemPrefetchAsync(values, 128, 0));
  cudaDeviceSynchronize();
  std::printf(" %d\n", values[31]);
}
