// Several devices (WARPFOLD_DEVICES=4): whose memory, streams and variables are whose, and what runs when.
#include "show.hpp"

#include <atomic>
#include <chrono>
#include <cuda/atomic>
#include <thread>
#include <vector>

__device__ int own = 1;
__managed__ int shared_by_all = 0;

__global__ void add_to_own(int value) {
  own += value;
  atomicAdd_system(&shared_by_all, 1);
}
__global__ void fill(int* a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = own + i;
}
__global__ void copy(const int* from, int* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}

using Flag = cuda::atomic_ref<int, cuda::thread_scope_system>;

// Each of two kernels waits for the other: both must run at the same time.
__global__ void exchange(int* mine, int* theirs, int* data, const int* their_data, int value) {
  *data = value;
  Flag{*theirs}.store(1, cuda::memory_order_release);
  while (Flag{*mine}.load(cuda::memory_order_acquire) == 0) {
  }
  data[1] = *their_data;
}

std::atomic<bool> may_go_on{false};
void wait_for_main(void*) {
  while (!may_go_on) {
  }
}

struct Device {
  int* data = nullptr;
  int* flag = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
};

constexpr int n = 1000;

void identity(int count) {
  int device = -1, can = -1;
  SHOW_VALUE(count);
  SHOW(cudaSetDevice(4));
  SHOW(cudaSetDevice(3));
  SHOW(cudaGetDevice(&device));
  SHOW_VALUE(device);
  SHOW(cudaDeviceCanAccessPeer(&can, 0, 1));
  SHOW_VALUE(can);
  SHOW(cudaDeviceCanAccessPeer(&can, 1, 1));
  SHOW_VALUE(can);
  char name[32];
  SHOW(cudaDeviceGetPCIBusId(name, sizeof name, 2));
  SHOW(cudaDeviceGetByPCIBusId(&device, name));
  SHOW_VALUE(device);
}

void variables(std::vector<Device>& devices) {
  for (std::size_t d = 0; d < devices.size(); ++d) {
    cudaSetDevice(static_cast<int>(d));
    for (std::size_t times = 0; times < d; ++times) add_to_own<<<1, 1, 0, devices[d].stream>>>(10);
    fill<<<(n + 255) / 256, 256, 0, devices[d].stream>>>(devices[d].data, n);
    cudaDeviceSynchronize();
    int value = 0;
    cudaMemcpyFromSymbol(&value, own, sizeof value);
    std::printf("device %zu: own = %d\n", d, value);
  }
  SHOW_VALUE(shared_by_all);
}

void copies(std::vector<Device>& devices) {
  cudaSetDevice(0);
  int* gathered = nullptr;
  cudaMalloc(&gathered, n * sizeof(int));
  SHOW(cudaMemcpyPeerAsync(gathered, 0, devices[2].data, 1, n * sizeof(int), devices[0].stream));
  SHOW(cudaMemcpyPeerAsync(gathered, 0, devices[2].data, 2, n * sizeof(int), devices[0].stream));
  int value = 0;
  SHOW(cudaMemcpyAsync(&value, gathered + 5, sizeof value, cudaMemcpyDeviceToHost, devices[0].stream));
  SHOW_VALUE(value);
  SHOW(cudaMemcpyPeer(gathered, 0, devices[3].data, 3, n * sizeof(int)));
  SHOW(cudaMemcpy(&value, gathered + 5, sizeof value, cudaMemcpyDeviceToHost));
  SHOW_VALUE(value);
  cudaPointerAttributes attributes;
  SHOW(cudaPointerGetAttributes(&attributes, devices[3].data));
  SHOW_VALUE(attributes.device);
  cudaFree(gathered);
}

void streams(std::vector<Device>& devices) {
  cudaSetDevice(1);
  fill<<<1, 32, 0, devices[0].stream>>>(devices[0].data, 32);
  SHOW(cudaGetLastError());
  SHOW(cudaEventRecord(devices[1].done, devices[0].stream));
  SHOW(cudaLaunchHostFunc(devices[1].stream, wait_for_main, nullptr));
  SHOW(cudaEventRecord(devices[1].done, devices[1].stream));
  SHOW(cudaStreamQuery(devices[1].stream));
  SHOW(cudaEventQuery(devices[1].done));
  SHOW(cudaGetLastError());
  SHOW(cudaStreamQuery(devices[0].stream));
  SHOW(cudaStreamWaitEvent(devices[2].stream, devices[1].done));
  cudaSetDevice(2);
  fill<<<1, 32, 0, devices[2].stream>>>(devices[2].data, 32);
  SHOW(cudaStreamQuery(devices[2].stream));
  may_go_on = true;
  SHOW(cudaStreamSynchronize(devices[2].stream));
  SHOW(cudaEventQuery(devices[1].done));
}

void at_the_same_time(std::vector<Device>& devices) {
  for (int d : {0, 1}) {
    cudaSetDevice(d);
    SHOW(cudaDeviceEnablePeerAccess(1 - d, 0));
    SHOW(cudaDeviceEnablePeerAccess(1 - d, 0));
    cudaMemset(devices[d].flag, 0, sizeof(int));
    cudaDeviceSynchronize();
  }
  cudaGetLastError();
  for (int d : {0, 1}) {
    cudaSetDevice(d);
    exchange<<<1, 1, 0, devices[d].stream>>>(devices[d].flag, devices[1 - d].flag, devices[d].data,
                                             devices[1 - d].data, d + 1);
  }
  for (int d : {0, 1}) {
    int value = 0;
    SHOW(cudaStreamSynchronize(devices[d].stream));
    cudaMemcpy(&value, devices[d].data + 1, sizeof value, cudaMemcpyDefault);
    SHOW_VALUE(value);
  }
}

// To destroy a stream takes no time, but whatever waits for a device or for its other streams still waits for
// what was issued to that one.
std::atomic<bool> is_done{false};
void take_time(void*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  is_done = true;
}

void destroyed_streams(std::vector<Device>& devices) {
  cudaSetDevice(1);
  for (const unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking}) {
    is_done = false;
    cudaStream_t stream{};
    cudaStreamCreateWithFlags(&stream, flags);
    cudaLaunchHostFunc(stream, take_time, nullptr);
    SHOW(cudaStreamDestroy(stream));
    if (flags == cudaStreamNonBlocking) {
      SHOW(cudaDeviceSynchronize());
    } else {
      fill<<<1, 32>>>(devices[1].data, 32);
      SHOW(cudaStreamSynchronize(cudaStreamLegacy));
    }
    SHOW_VALUE(is_done.load());
  }
}

void no_access(std::vector<Device>& devices) {
  cudaSetDevice(2);
  SHOW(cudaDeviceDisablePeerAccess(3));
  copy<<<1, 32, 0, devices[2].stream>>>(devices[3].data, devices[2].data, 32);
  SHOW(cudaStreamSynchronize(devices[2].stream));
}

int main() {
  int count = 0;
  SHOW(cudaGetDeviceCount(&count));
  identity(count);
  std::vector<Device> devices(static_cast<std::size_t>(count));
  for (int d = 0; d < count; ++d) {
    Device& device = devices[static_cast<std::size_t>(d)];
    cudaSetDevice(d);
    cudaMalloc(&device.data, n * sizeof(int));
    cudaMalloc(&device.flag, sizeof(int));
    cudaStreamCreate(&device.stream);
    cudaEventCreate(&device.done);
  }
  variables(devices);
  copies(devices);
  streams(devices);
  at_the_same_time(devices);
  destroyed_streams(devices);
  no_access(devices);
}
