// Two devices and what orders their kernels: test_devices_order.py names the case and what is to be told of
// it.
#include <cstdio>
#include <cuda/atomic>
#include <string_view>

using OfSystem = cuda::atomic_ref<int, cuda::thread_scope_system>;
using OfDevice = cuda::atomic_ref<int, cuda::thread_scope_device>;

__global__ void prepare(int* data) {
  data[threadIdx.x] = static_cast<int>(threadIdx.x); // MARK prepare
}
__global__ void send_with_release(int* data, int* flag) {
  data[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) OfSystem{*flag}.store(1, cuda::memory_order_release);
}
__global__ void send_with_release_for_device(int* data, int* flag) {
  data[threadIdx.x] += 1; // MARK device-release
  __syncthreads();
  if (threadIdx.x == 0) OfDevice{*flag}.store(1, cuda::memory_order_release);
}
__global__ void send_with_fence(int* data, int* flag) {
  data[threadIdx.x] += 1; // MARK system-fence
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *static_cast<volatile int*>(flag) = 1;
}
__global__ void send_with_fence_for_device(int* data, int* flag) {
  data[threadIdx.x] += 1; // MARK device-fence
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *static_cast<volatile int*>(flag) = 1;
}
__global__ void send_without_fence(int* data, int* flag) {
  data[threadIdx.x] += 1; // MARK no-fence
  __syncthreads();
  if (threadIdx.x == 0) *static_cast<volatile int*>(flag) = 1;
}
__global__ void receive(const int* data, int* flag, int* out) {
  if (threadIdx.x == 0)
    while (OfSystem{*flag}.load(cuda::memory_order_acquire) == 0) { // MARK waits
    }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x]; // MARK receive
}
__global__ void receive_after_fence(const int* data, int* flag, int* out) {
  if (threadIdx.x == 0) {
    while (*static_cast<volatile int*>(flag) == 0) { // MARK waits-too
    }
    __threadfence_system();
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x]; // MARK receive-volatile
}
__global__ void receive_after_device_fence(const int* data, int* flag, int* out) {
  if (threadIdx.x == 0) {
    while (*static_cast<volatile int*>(flag) == 0) {
    }
    __threadfence();
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x]; // MARK receive-device-fence
}
__global__ void receives_only_the_flag(const int*, int* flag, int*) {
  if (threadIdx.x == 0)
    while (*static_cast<volatile int*>(flag) == 0) {
    }
}
__device__ int variable[64];
__global__ void read_variable(const int* variable_of_peer, int* out) {
  out[threadIdx.x] = variable_of_peer[threadIdx.x]; // MARK variable
}
__global__ void read(const int* data, int* out) {
  out[threadIdx.x] = data[threadIdx.x]; // MARK read
}
__global__ void count(int* counter) {
  atomicAdd(counter, 1); // MARK count
}
__global__ void count_for_all(int* counter) {
  atomicAdd_system(counter, 1);
}

constexpr unsigned threads = 64;
constexpr std::size_t bytes = threads * sizeof(int);

struct Scene {
  int *data, *flag, *out; // the last on device 1
  cudaStream_t stream[2]; // one on each device
  cudaEvent_t prepared;
};

Scene set_up() {
  Scene scene;
  for (int device : {1, 0}) {
    cudaSetDevice(device);
    cudaDeviceEnablePeerAccess(1 - device, 0);
    cudaStreamCreate(&scene.stream[device]);
    if (device == 1) cudaMalloc(&scene.out, bytes);
  }
  cudaMalloc(&scene.data, bytes);
  cudaMalloc(&scene.flag, sizeof(int));
  cudaEventCreate(&scene.prepared);
  cudaMemset(scene.flag, 0, sizeof(int));
  cudaDeviceSynchronize();
  return scene;
}

template <typename Send, typename Receive>
void pass_on(Scene& scene, Send send, Receive receiver) {
  send<<<1, threads, 0, scene.stream[0]>>>(scene.data, scene.flag);
  cudaSetDevice(1);
  receiver<<<1, threads, 0, scene.stream[1]>>>(scene.data, scene.flag, scene.out);
}

template <typename Count>
void count_on_both(Scene& scene, Count counts) {
  for (int device : {0, 1}) {
    cudaSetDevice(device);
    counts<<<2, threads, 0, scene.stream[device]>>>(scene.flag);
  }
}

void carry_out(std::string_view what, Scene& scene) {
  const auto read_on_device_1 = [&] {
    cudaSetDevice(1);
    read<<<1, threads, 0, scene.stream[1]>>>(scene.data, scene.out);
  };
  if (what == "release") pass_on(scene, send_with_release, receive);
  if (what == "fence") pass_on(scene, send_with_fence, receive_after_fence);
  if (what == "release_for_device") pass_on(scene, send_with_release_for_device, receive);
  if (what == "fence_for_device") pass_on(scene, send_with_fence_for_device, receive_after_fence);
  if (what == "reader_fence_for_device") pass_on(scene, send_with_fence, receive_after_device_fence);
  if (what == "end_of_kernel") { // is a fence
    pass_on(scene, send_with_fence, receives_only_the_flag);
    read_on_device_1();
  }
  if (what == "no_fence") pass_on(scene, send_without_fence, receive_after_fence);
  if (what == "later_kernel") { // is ordered by what the kernel before it has acquired
    pass_on(scene, send_with_release, receive);
    read_on_device_1();
  }
  if (what == "event") {
    cudaEventRecord(scene.prepared, scene.stream[0]);
    cudaStreamWaitEvent(scene.stream[1], scene.prepared);
    read_on_device_1();
  }
  if (what == "no_event") read_on_device_1();
  if (what == "no_event_before_copy")
    cudaMemcpyPeerAsync(scene.out, 1, scene.data, 0, bytes, scene.stream[1]);
  if (what == "copy_between_devices") { // waits for both devices, and both for it, whatever the streams
    cudaSetDevice(1);
    cudaMemcpy(scene.out, scene.data, bytes, cudaMemcpyDefault);
    cudaSetDevice(0);
    prepare<<<1, threads, 0, scene.stream[0]>>>(scene.data);
    cudaSetDevice(1);
    prepare<<<1, threads, 0, scene.stream[1]>>>(scene.out);
  }
  if (what == "atomics") count_on_both(scene, count);
  if (what == "atomics_for_all") count_on_both(scene, count_for_all);
  if (what == "variable") { // of device 0, to which device 1 has access
    void* of_device_0 = nullptr;
    cudaGetSymbolAddress(&of_device_0, variable);
    cudaSetDevice(1);
    read_variable<<<1, threads, 0, scene.stream[1]>>>(static_cast<int*>(of_device_0), scene.out);
  }
  if (what == "pool" || what == "pool_for_both") { // of device 0, to which device 1 has access
    cudaSetDevice(0);
    if (what == "pool_for_both") {
      cudaMemPool_t pool = nullptr;
      cudaDeviceGetDefaultMemPool(&pool, 0);
      cudaMemAccessDesc access{};
      access.location.type = cudaMemLocationTypeDevice, access.location.id = 1;
      access.flags = cudaMemAccessFlagsProtReadWrite;
      cudaMemPoolSetAccess(pool, &access, 1);
    }
    int* of_device_0 = nullptr;
    cudaMallocAsync(&of_device_0, bytes, scene.stream[0]);
    cudaMemsetAsync(of_device_0, 0, bytes, scene.stream[0]);
    cudaStreamSynchronize(scene.stream[0]);
    cudaSetDevice(1);
    read_variable<<<1, threads, 0, scene.stream[1]>>>(of_device_0, scene.out);
  }
  if (what == "forever") {
    cudaSetDevice(1);
    receive<<<1, threads, 0, scene.stream[1]>>>(scene.data, scene.flag, scene.out);
    cudaSetDevice(0);
    receive_after_fence<<<1, threads, 0, scene.stream[0]>>>(scene.data, scene.flag, scene.data);
  }
}

int main(int, char** arguments) {
  Scene scene = set_up();
  prepare<<<1, threads, 0, scene.stream[0]>>>(scene.data);
  carry_out(arguments[1], scene);
  for (int device : {0, 1}) {
    cudaSetDevice(device);
    std::printf("device %d: %s\n", device, cudaGetErrorName(cudaDeviceSynchronize()));
  }
}
