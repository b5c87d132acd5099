// Memory pools and several devices (WARPFOLD_DEVICES=4): where a pool's memory lies, and who may access it.
#include "show.hpp"

__global__ void fill(int* a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i;
}

constexpr int n = 1000;

cudaMemAccessDesc access(int device, cudaMemAccessFlags flags) {
  cudaMemAccessDesc description{};
  description.location = {cudaMemLocationTypeDevice, device};
  description.flags = flags;
  return description;
}

cudaMemPool_t pool_on(int device) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, device};
  cudaMemPool_t pool = nullptr;
  SHOW(cudaMemPoolCreate(&pool, &properties));
  return pool;
}

void show_access(cudaMemPool_t pool) {
  for (int device : {0, 1}) {
    cudaMemLocation location{cudaMemLocationTypeDevice, device};
    cudaMemAccessFlags flags = cudaMemAccessFlagsProtRead;
    SHOW(cudaMemPoolGetAccess(&flags, pool, &location));
    SHOW_VALUE(device);
    SHOW_VALUE(static_cast<int>(flags));
  }
}

void show_use(cudaMemPool_t pool) {
  unsigned long long used = 1, most = 1;
  SHOW(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  SHOW(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &most));
  SHOW_VALUE(used);
  SHOW_VALUE(most);
}

void show_owner(const int* memory) {
  cudaPointerAttributes attributes{};
  SHOW(cudaPointerGetAttributes(&attributes, memory));
  SHOW_VALUE(attributes.device);
}

void run_on(int device, int* memory) {
  SHOW(cudaSetDevice(device));
  fill<<<4, 256>>>(memory, n);
  SHOW(cudaGetLastError());
  SHOW(cudaDeviceSynchronize());
}

int main() {
  // Of device 1, which alone may access it at first.
  cudaMemPool_t pool = pool_on(1);
  show_access(pool);
  SHOW(cudaSetDevice(0));
  int *memory = nullptr, *later = nullptr, *usual = nullptr;
  SHOW(cudaMallocFromPoolAsync(&memory, n * sizeof(int), pool, nullptr));
  SHOW(cudaDeviceSynchronize());
  show_use(pool);
  show_owner(memory);
  run_on(1, memory);

  // For memory that is there already, and for what comes later.
  cudaMemAccessDesc both = access(0, cudaMemAccessFlagsProtReadWrite);
  SHOW(cudaMemPoolSetAccess(pool, &both, 1));
  show_access(pool);
  run_on(0, memory);
  SHOW(cudaMallocFromPoolAsync(&later, n * sizeof(int), pool, nullptr));
  run_on(0, later);
  SHOW(cudaFreeAsync(later, nullptr));
  SHOW(cudaDeviceSynchronize());
  show_use(pool);
  unsigned long long again = 1;
  SHOW(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &again));
  again = 0;
  SHOW(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &again));
  show_use(pool);

  // What cannot be asked for.
  cudaMemAccessDesc wrong = access(1, cudaMemAccessFlagsProtNone);
  SHOW(cudaMemPoolSetAccess(pool, &wrong, 1));
  wrong = access(0, cudaMemAccessFlagsProtRead);
  SHOW(cudaMemPoolSetAccess(pool, &wrong, 1));
  wrong = access(99, cudaMemAccessFlagsProtReadWrite);
  SHOW(cudaMemPoolSetAccess(pool, &wrong, 1));
  wrong.location.type = cudaMemLocationTypeInvalid;
  SHOW(cudaMemPoolSetAccess(pool, &wrong, 1));
  SHOW(cudaMemPoolSetAccess(pool, nullptr, 0));
  SHOW(cudaDeviceSetMemPool(0, pool));
  SHOW(cudaDeviceSetMemPool(1, pool));
  SHOW(cudaSetDevice(1));
  SHOW(cudaMallocAsync(&usual, n * sizeof(int), nullptr));
  SHOW(cudaDeviceSynchronize());
  show_owner(usual);
  run_on(0, usual); // it comes from the pool that device 0 may access

  // Without the pool's access, that of cudaDeviceEnablePeerAccess is not enough.
  cudaMemAccessDesc none = access(0, cudaMemAccessFlagsProtNone);
  SHOW(cudaMemPoolSetAccess(pool, &none, 1));
  show_access(pool);
  SHOW(cudaSetDevice(0));
  SHOW(cudaDeviceEnablePeerAccess(1, 0));
  run_on(0, memory);
}
