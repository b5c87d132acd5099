// NCCL's functions inside kernels: a program that has them compiles, and learns the name of what it lacks.
#include <cstdio>
#include <cuda_runtime_api.h>
#include <nccl_device.h>

__global__ void sum_over_ranks(ncclWindow_t window, ncclDevComm comm, float* result) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamLsa(comm), comm.lsaBarrier,
                                             blockIdx.x};
  barrier.sync(ncclCoopCta(), cuda::memory_order_acquire);
  for (int peer = 0; peer < comm.nRanks; ++peer)
    *result += *static_cast<const float*>(ncclGetLsaPointer(window, 0, peer));
  barrier.sync(ncclCoopCta(), cuda::memory_order_release);
}

__global__ void put(ncclWindow_t window, ncclDevComm comm) {
  const ncclGin gin{comm, 0};
  ncclBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), ncclTeamTagWorld(), gin, 0};
  gin.put(ncclTeamWorld(comm), 0, window, 0, window, 4, 4, ncclGin_SignalInc{0});
  gin.waitSignal(ncclCoopCta(), 0, gin.readSignal(0) + 1);
  gin.flush(ncclCoopCta());
  barrier.sync(ncclCoopCta(), cuda::memory_order_release, ncclGinFenceLevel::Relaxed);
}

int main(int argc, char**) {
  ncclComm_t comm = nullptr;
  if (ncclCommInitAll(&comm, 1, nullptr) != ncclSuccess) return 1;
  ncclDevCommRequirements requirements = {};
  requirements.lsaBarrierCount = 1;
  ncclDevComm made = {};
  std::printf("create: %d\n", ncclDevCommCreate(comm, &requirements, &made));
  std::printf("destroy: %d\n", ncclDevCommDestroy(comm, &made));
  if (argc > 1)
    put<<<1, 1>>>(nullptr, made);
  else
    sum_over_ranks<<<1, 1>>>(nullptr, made, nullptr);
  std::printf("kernel: %d\n", cudaDeviceSynchronize());
}
