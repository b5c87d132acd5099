// Members that cudaDeviceProp and cudaPointerAttributes no longer have.
#include <cstdio>

static int attribute(cudaDeviceAttr wanted) {
  int value = -1;
  cudaDeviceGetAttribute(&value, wanted, 0);
  return value;
}

int main() {
  struct cudaDeviceProp properties = {};
  std::printf("%d", cudaGetDeviceProperties(&properties, 0));
  std::printf(" %d", properties.warpSize);
  std::printf(" %d", properties.clockRate == attribute(cudaDevAttrClockRate));
  std::printf(" %d", properties.memoryClockRate == attribute(cudaDevAttrMemoryClockRate));
  std::printf(" %d", properties.deviceOverlap == attribute(cudaDevAttrGpuOverlap));
  std::printf(" %d", properties.kernelExecTimeoutEnabled == attribute(cudaDevAttrKernelExecTimeout));
  std::printf(" %d", properties.computeMode == attribute(cudaDevAttrComputeMode));
  std::printf(" %d", properties.singleToDoublePrecisionPerfRatio ==
                         attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio));
  std::printf(" %d", properties.maxTexture1DLinear == attribute(cudaDevAttrMaxTexture1DLinearWidth));
  std::printf(" %d\n", properties.cooperativeMultiDeviceLaunch);
  int chosen = -1;
  cudaChooseDevice(&chosen, &properties);

  cudaDeviceProp again;
  std::printf("%d %d", chosen, cudaGetDeviceProperties_v2(&again, 0));
  std::printf(" %d", again.clockRate > 0);
  std::printf(" %d\n", cudaGetDeviceProperties(&again, 99) != cudaSuccess);

  int *managed, *device;
  cudaMallocManaged(&managed, 4);
  cudaMalloc(&device, 4);
  for (int* each : {managed, device}) {
    cudaPointerAttributes attributes;
    cudaPointerGetAttributes(&attributes, each);
    std::printf("%d %d\n", attributes.memoryType == cudaMemoryTypeDevice, attributes.isManaged);
  }
}
