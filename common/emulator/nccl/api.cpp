// NCCL's functions about communicators, groups and errors: what they check before anything is done.
#include "checked_entry.hpp"
#include "groups.hpp"

#include <cstring>
#include <fmt/format.h>
#include <nccl_device.h>
#include <string_view>

using namespace warpfold::nccl;

namespace {

constexpr std::string_view id_mark = "warpfold-nccl 1 ";

std::string segment_of(const ncclUniqueId& id) {
  const std::string_view text(id.internal, strnlen(id.internal, sizeof id.internal));
  require(text.starts_with(id_mark), ncclInvalidArgument,
          "the ncclUniqueId holds no id of the stand-in's: one rank gets it from ncclGetUniqueId, and all "
          "others must "
          "have it from that rank (MPI_Bcast)");
  return std::string(text.substr(id_mark.size()));
}

ncclResult_t init_rank(ncclComm_t* comm, int size, const ncclUniqueId& id, int rank) {
  const ncclResult_t result = entry("ncclCommInitRank", [&] {
    require(comm != nullptr, ncclInvalidArgument, "the pointer to the communicator is NULL");
    require(size >= 1 && rank >= 0 && rank < size, ncclInvalidArgument,
            fmt::format("rank {} of {} ranks: a rank is at least 0 and below their number", rank, size));
    require(size <= most_ranks, ncclInvalidArgument,
            fmt::format("the stand-in has at most {} ranks", most_ranks));
    Joining joining{.made = comm, .size = size, .rank = rank, .segment = segment_of(id), .site = call_site()};
    check(cudaGetDevice(&joining.device), "cudaGetDevice");
    *comm = nullptr;
    return add(joining);
  });
  if (result != ncclSuccess) note_failed_join();
  return result;
}

ncclResult_t refuse_inside_kernels(const char* name) {
  return entry(name, []() -> ncclResult_t {
    throw Refusal{ncclInvalidUsage, "the stand-in does not have NCCL's functions inside kernels"};
  });
}

template <typename Value>
ncclResult_t tell(const char* name, ncclComm_t comm, Value* to, Value (*value)(const ncclComm&)) {
  return entry(name, [&] {
    const ncclComm& found = checked(comm);
    require(to != nullptr, ncclInvalidArgument, "the pointer to the answer is NULL");
    *to = value(found);
    return ncclSuccess;
  });
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (!version) return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess:
    return "no error";
  case ncclUnhandledCudaError:
    return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
  case ncclSystemError:
    return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
  case ncclInternalError:
    return "internal error - please report this issue to the NCCL developers";
  case ncclInvalidArgument:
    return "invalid argument (run with NCCL_DEBUG=WARN for details)";
  case ncclInvalidUsage:
    return "invalid usage (run with NCCL_DEBUG=WARN for details)";
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  case ncclInProgress:
    return "NCCL operation in progress";
  default:
    return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t comm) {
  if (ncclComm* const found = comm ? live(comm) : nullptr; found && found->segment->has_failed())
    set_last_text(found->segment->shared().text);
  return last_text();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return entry("ncclGetUniqueId", [&] {
    require(id != nullptr, ncclInvalidArgument, "the pointer to the id is NULL");
    std::memset(id, 0, sizeof *id);
    const std::string text = std::string(id_mark) + new_segment_name();
    std::memcpy(id->internal, text.data(), text.size());
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  return init_rank(comm, nranks, id, rank);
}

// The configuration holds nothing that the results depend on.
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t*) {
  return init_rank(comm, nranks, id, rank);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int ndev, const int* devices) {
  return entry("ncclCommInitAll", [&] {
    int there = 0;
    check(cudaGetDeviceCount(&there), "cudaGetDeviceCount");
    require(comms != nullptr, ncclInvalidArgument, "the pointer to the communicators is NULL");
    require(ndev >= 1, ncclInvalidArgument, fmt::format("{} devices are asked for", ndev));
    require(ndev <= most_ranks, ncclInvalidArgument,
            fmt::format("the stand-in has at most {} ranks", most_ranks));
    const std::string segment = new_segment_name();
    std::vector<Joining> all;
    for (int rank = 0; rank < ndev; ++rank) {
      const int device = devices ? devices[rank] : rank;
      require(device >= 0 && device < there, devices ? ncclUnhandledCudaError : ncclInvalidArgument,
              fmt::format("there is no device {}: this process sees {}", device, there));
      all.push_back({&comms[rank], ndev, rank, device, segment, call_site()});
    }
    return join(all, "");
  });
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t*) {
  return entry("ncclCommSplit", [&] {
    ncclComm& parent = usable(comm);
    require(made != nullptr, ncclInvalidArgument, "the pointer to the communicator is NULL");
    require(color >= 0 || color == NCCL_SPLIT_NOCOLOR, ncclInvalidArgument,
            fmt::format("the color is {}: it is at least 0, or NCCL_SPLIT_NOCOLOR", color));
    return add(Splitting{&parent, color, key, made, call_site()});
  });
}

// Communicators for kernels: named, so that a program learns which function it lacks.
ncclResult_t ncclDevCommCreate(ncclComm_t, const ncclDevCommRequirements_t*, ncclDevComm_t*) {
  return refuse_inside_kernels("ncclDevCommCreate");
}
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm_t*) {
  return refuse_inside_kernels("ncclDevCommDestroy");
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return entry("ncclCommFinalize", [&] {
    ncclComm& found = checked(comm);
    require(!found.is_finalized, ncclInvalidUsage, "the communicator has been finalized already");
    return finalize(&found);
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  return entry("ncclCommDestroy", [&] {
    ncclComm& found = checked(comm);
    require(!has_calls_in_group(&found), ncclInvalidUsage,
            "the communicator has calls in a group: ncclGroupEnd has not been called");
    return leave(&found, call_site(), false);
  });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  return entry("ncclCommAbort", [&] { return leave(&checked(comm), call_site(), true); });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return tell<ncclResult_t>("ncclCommGetAsyncError", comm, error, [](const ncclComm& found) {
    return found.segment->has_failed() ? static_cast<ncclResult_t>(found.segment->shared().result)
                                       : ncclSuccess;
  });
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return tell<int>("ncclCommCount", comm, count, [](const ncclComm& found) { return found.size(); });
}
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return tell<int>("ncclCommCuDevice", comm, device, [](const ncclComm& found) { return found.device; });
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return tell<int>("ncclCommUserRank", comm, rank, [](const ncclComm& found) { return found.rank(); });
}

// NVIDIA's library has no such functions: for programs that check how NCCL was used (common/lab).
unsigned long long warpfold_nccl_calls(void) {
  return calls_so_far();
}
unsigned long long warpfold_nccl_results(void) {
  return results_so_far();
}
unsigned long long warpfold_nccl_communicators(void) {
  return communicators_so_far();
}
void warpfold_nccl_keep_quiet(void) {
  keep_quiet();
}
// What is wrong with a group that this thread has begun and not ended; "" if there is none.
const char* warpfold_nccl_open_group(void) {
  return group_without_end();
}

ncclResult_t ncclGroupStart(void) {
  return start_group();
}
ncclResult_t ncclGroupEnd(void) {
  try {
    return end_group();
  } catch (const CudaFailure& failure) {
    return refuse(ncclUnhandledCudaError, "ncclGroupEnd: " + failure.text);
  } catch (const std::exception& error) {
    return refuse(ncclSystemError, std::string("ncclGroupEnd: ") + error.what());
  }
}
}
#pragma GCC visibility pop
