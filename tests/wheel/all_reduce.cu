// Somebody else's program with NCCL: every device fills its memory, and gets the sum of all.
#include <cstdio>
#include <nccl.h>
#include <vector>

__global__ void fill(float* data, int count, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = value;
}

int main() {
  constexpr int count = 1000;
  int devices = 0;
  cudaGetDeviceCount(&devices);
  std::vector<ncclComm_t> members(devices);
  std::vector<float*> data(devices);
  if (ncclCommInitAll(members.data(), devices, nullptr) != ncclSuccess) return 1;
  for (int device = 0; device < devices; ++device) {
    cudaSetDevice(device);
    cudaMalloc(&data[device], count * sizeof(float));
    fill<<<4, 256>>>(data[device], count, float(device + 1));
  }
  ncclGroupStart();
  for (int device = 0; device < devices; ++device)
    ncclAllReduce(data[device], data[device], count, ncclFloat, ncclSum, members[device], nullptr);
  ncclGroupEnd();
  float last = 0;
  for (int device = 0; device < devices; ++device) {
    cudaSetDevice(device);
    cudaMemcpy(&last, data[device] + count - 1, sizeof last, cudaMemcpyDeviceToHost);
    std::printf("device %d of %d: %g\n", device, devices, last);
    ncclCommDestroy(members[device]);
  }
}
