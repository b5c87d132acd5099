/* NCCL's functions inside kernels (NCCL 2.28), as far as a program must have them to compile: the stand-in
 * does not carry them out. ncclDevCommCreate refuses, and a kernel that calls one all the same stops there,
 * with its name. The layouts are the stand-in's own. */
#ifndef WARPFOLD_NCCL_DEVICE_H
#define WARPFOLD_NCCL_DEVICE_H

#include <nccl.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ncclTeam {
  int nRanks, rank, stride;
} ncclTeam_t;

typedef struct ncclLsaBarrierHandle {
  uint32_t bufHandle;
  int nBarriers;
} ncclLsaBarrierHandle_t;

typedef struct ncclMultimemHandle {
  void* mcBasePtr;
} ncclMultimemHandle_t;

typedef uint32_t ncclDevResourceHandle_t;
typedef uint32_t ncclGinSignal_t;
typedef uint32_t ncclGinCounter_t;
typedef struct ncclDevResourceRequirements ncclDevResourceRequirements_t;
typedef struct ncclTeamRequirements ncclTeamRequirements_t;

typedef struct ncclDevCommRequirements {
  ncclDevResourceRequirements_t* resourceRequirementsList;
  ncclTeamRequirements_t* teamRequirementsList;
  bool lsaMultimem;
  int barrierCount, lsaBarrierCount, railGinBarrierCount;
  int lsaLLA2ABlockCount, lsaLLA2ASlotCount;
  bool ginForceEnable;
  int ginContextCount, ginSignalCount, ginCounterCount;
} ncclDevCommRequirements_t;

typedef struct ncclDevComm {
  int rank, nRanks, lsaRank, lsaSize;
  ncclLsaBarrierHandle_t lsaBarrier;
} ncclDevComm_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Both return an error: there are no communicators for kernels. */
ncclResult_t ncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements_t* requirements,
                               ncclDevComm_t* made);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const ncclDevComm_t* made);

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
#include <cstdio>
#include <cuda/atomic>

#define WARPFOLD_NCCL_STOPS(name) warpfold_nccl_stop(name), __trap()
static __device__ __forceinline__ void warpfold_nccl_stop(const char* name) {
  printf("%s: NCCL's stand-in does not have NCCL's functions inside kernels\n", name);
}

struct ncclTeamTagWorld {};
struct ncclTeamTagLsa {};
struct ncclTeamTagRail {};

static __host__ __device__ __forceinline__ ncclTeam ncclTeamWorld(const ncclDevComm& comm) {
  return {comm.nRanks, comm.rank, 1};
}
static __host__ __device__ __forceinline__ ncclTeam ncclTeamLsa(const ncclDevComm& comm) {
  return {comm.lsaSize, comm.lsaRank, 1};
}

/* Groups of threads. */
struct ncclCoopCta {
  __device__ int thread_rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ int num_threads() const { return size(); }
  __device__ void sync() { __syncthreads(); }
};
struct ncclCoopWarp {
  __device__ int thread_rank() const { return static_cast<int>(threadIdx.x % 32); }
  __device__ int size() const { return 32; }
  __device__ int num_threads() const { return size(); }
  __device__ void sync() { __syncwarp(); }
};
struct ncclCoopThread {
  __device__ int thread_rank() const { return 0; }
  __device__ int size() const { return 1; }
  __device__ int num_threads() const { return size(); }
  __device__ void sync() {}
};

/* Memory of other ranks, through windows. */
static __device__ inline void* ncclGetLocalPointer(ncclWindow_t, size_t) {
  return WARPFOLD_NCCL_STOPS("ncclGetLocalPointer"), nullptr;
}
static __device__ inline void* ncclGetLsaPointer(ncclWindow_t, size_t, int) {
  return WARPFOLD_NCCL_STOPS("ncclGetLsaPointer"), nullptr;
}
static __device__ inline void* ncclGetPeerPointer(ncclWindow_t, size_t, int) {
  return WARPFOLD_NCCL_STOPS("ncclGetPeerPointer"), nullptr;
}
static __device__ inline void* ncclGetPeerPointer(ncclWindow_t, size_t, ncclTeam, int) {
  return WARPFOLD_NCCL_STOPS("ncclGetPeerPointer"), nullptr;
}
static __device__ inline void* ncclGetMultimemPointer(ncclWindow_t, size_t, ncclMultimemHandle) {
  return WARPFOLD_NCCL_STOPS("ncclGetMultimemPointer"), nullptr;
}
static __device__ inline void* ncclGetLsaMultimemPointer(ncclWindow_t, size_t, const ncclDevComm&) {
  return WARPFOLD_NCCL_STOPS("ncclGetLsaMultimemPointer"), nullptr;
}

/* Barriers of the ranks that reach each other's memory. */
template <typename Coop>
struct ncclLsaBarrierSession {
  __device__ ncclLsaBarrierSession(Coop, const ncclDevComm&, ncclTeam, ncclLsaBarrierHandle, uint32_t,
                                   bool = false, ncclMultimemHandle = {}) {
    WARPFOLD_NCCL_STOPS("ncclLsaBarrierSession");
  }
  __device__ ncclLsaBarrierSession(Coop, const ncclDevComm&, ncclTeamTagLsa, uint32_t, bool = false) {
    WARPFOLD_NCCL_STOPS("ncclLsaBarrierSession");
  }
  ncclLsaBarrierSession(const ncclLsaBarrierSession&) = delete;
  __device__ void arrive(Coop, cuda::memory_order) { WARPFOLD_NCCL_STOPS("ncclLsaBarrierSession::arrive"); }
  __device__ void wait(Coop, cuda::memory_order) { WARPFOLD_NCCL_STOPS("ncclLsaBarrierSession::wait"); }
  __device__ void sync(Coop, cuda::memory_order) { WARPFOLD_NCCL_STOPS("ncclLsaBarrierSession::sync"); }
};

/* Transfers that a kernel starts over the network. */
struct ncclGin_SignalInc {
  ncclGinSignal_t signal;
};
enum class ncclGinFenceLevel { Relaxed };
struct ncclGin {
  __device__ ncclGin(const ncclDevComm&, int) { WARPFOLD_NCCL_STOPS("ncclGin"); }
  template <typename Action>
  __device__ void put(ncclTeam, int, ncclWindow_t, size_t, ncclWindow_t, size_t, size_t, Action) const {
    WARPFOLD_NCCL_STOPS("ncclGin::put");
  }
  __device__ uint64_t readSignal(ncclGinSignal_t) const {
    return WARPFOLD_NCCL_STOPS("ncclGin::readSignal"), 0;
  }
  template <typename Coop>
  __device__ void waitSignal(Coop, ncclGinSignal_t, uint64_t) const {
    WARPFOLD_NCCL_STOPS("ncclGin::waitSignal");
  }
  template <typename Coop>
  __device__ void flush(Coop) const {
    WARPFOLD_NCCL_STOPS("ncclGin::flush");
  }
};
template <typename Coop>
struct ncclBarrierSession {
  __device__ ncclBarrierSession(Coop, ncclTeamTagWorld, const ncclGin&, uint32_t) {
    WARPFOLD_NCCL_STOPS("ncclBarrierSession");
  }
  ncclBarrierSession(const ncclBarrierSession&) = delete;
  __device__ void sync(Coop, cuda::memory_order, ncclGinFenceLevel) {
    WARPFOLD_NCCL_STOPS("ncclBarrierSession::sync");
  }
};
#endif

#endif
