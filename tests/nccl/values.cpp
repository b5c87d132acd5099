// The values and sizes that a program takes from nccl.h, whichever header it is compiled with.
#include <cstdio>
#include <nccl.h>

#define SHOW(name) std::printf(#name " %lld\n", static_cast<long long>(name))

int main() {
  SHOW(ncclSuccess), SHOW(ncclUnhandledCudaError), SHOW(ncclSystemError), SHOW(ncclInternalError);
  SHOW(ncclInvalidArgument), SHOW(ncclInvalidUsage), SHOW(ncclRemoteError), SHOW(ncclInProgress),
      SHOW(ncclNumResults);
  SHOW(ncclSum), SHOW(ncclProd), SHOW(ncclMax), SHOW(ncclMin), SHOW(ncclAvg), SHOW(ncclNumOps),
      SHOW(ncclMaxRedOp);
  SHOW(ncclInt8), SHOW(ncclChar), SHOW(ncclUint8), SHOW(ncclInt32), SHOW(ncclInt), SHOW(ncclUint32),
      SHOW(ncclInt64);
  SHOW(ncclUint64), SHOW(ncclFloat16), SHOW(ncclHalf), SHOW(ncclFloat32), SHOW(ncclFloat), SHOW(ncclFloat64);
  SHOW(ncclDouble), SHOW(ncclBfloat16);
  SHOW(ncclFloat8e4m3), SHOW(ncclFloat8e5m2), SHOW(ncclNumTypes);
  SHOW(ncclScalarDevice), SHOW(ncclScalarHostImmediate), SHOW(sizeof(ncclScalarResidence_t));
  SHOW(NCCL_WIN_DEFAULT), SHOW(NCCL_WIN_COLL_SYMMETRIC), SHOW(NCCL_WIN_REQUIRED_ALIGNMENT);
  SHOW(NCCL_CTA_POLICY_DEFAULT), SHOW(NCCL_CTA_POLICY_EFFICIENCY), SHOW(NCCL_CTA_POLICY_ZERO);
  SHOW(sizeof(ncclConfig_t)), SHOW(sizeof(ncclWindow_t));
  SHOW(NCCL_UNIQUE_ID_BYTES), SHOW(NCCL_SPLIT_NOCOLOR), SHOW(NCCL_CONFIG_UNDEF_INT);
  SHOW(sizeof(ncclUniqueId)), SHOW(sizeof(ncclResult_t)), SHOW(sizeof(ncclDataType_t)),
      SHOW(sizeof(ncclRedOp_t));
}
