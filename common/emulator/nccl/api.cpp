// NCCL's functions: what they check before anything is issued.
#include "arithmetic.hpp"
#include "communicator.hpp"
#include "groups.hpp"
#include "telling.hpp"

#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>
#include <stdexcept>
#include <string_view>

using namespace warpfold::nccl;

namespace {

constexpr std::string_view id_mark = "warpfold-nccl 1 ";

struct Refusal {
  ncclResult_t result;
  std::string text;
  std::string cause = {}; // told before, and the last error still
};

// Runs the body of a function of the interface; what it throws becomes the function's result.
template <typename Body>
ncclResult_t entry(const char* name, Body body) {
  try {
    return group_result(body());
  } catch (const Refusal& refusal) {
    const std::string place = text(call_site());
    refuse(refusal.result, fmt::format("{}: {}\n  {}: called here", name, refusal.text, place));
    if (!refusal.cause.empty())
      set_last_text(fmt::format("{}\n  {}: {}: {}", refusal.cause, place, name, refusal.text));
    return group_result(refusal.result);
  } catch (const CudaFailure& failure) {
    return group_result(refuse(ncclUnhandledCudaError, fmt::format("{}: {}\n  {}: called here", name,
                                                                   failure.text, text(call_site()))));
  } catch (const std::exception& error) {
    return group_result(refuse(ncclSystemError, fmt::format("{}: {}", name, error.what())));
  }
}

void require(bool holds, ncclResult_t result, const std::string& text) {
  if (!holds) throw Refusal{result, text};
}

ncclComm& checked(ncclComm_t comm) {
  if (comm == nullptr) {
    const std::string cause = why_joining_failed();
    throw Refusal{ncclInvalidArgument,
                  cause.empty() ? "the communicator is NULL"
                                : "the communicator is NULL, since this process failed to join",
                  cause};
  }
  ncclComm* const found = live(comm);
  require(found != nullptr, ncclInvalidArgument, "the communicator was never made, or has been destroyed");
  return *found;
}

ncclComm& usable(ncclComm_t comm) {
  ncclComm& found = checked(comm);
  if (found.segment->has_failed())
    throw Refusal{static_cast<ncclResult_t>(found.segment->shared().result),
                  fmt::format("the communicator has failed before: {}", found.segment->shared().text)};
  require(!found.is_finalized, ncclInvalidUsage, "the communicator has been finalized");
  return found;
}

// What NCCL_CHECK_POINTERS=1 has NCCL check: without it a wrong pointer ends the program, or worse.
void check_buffer(const ncclComm& comm, const void* pointer, const char* name) {
  require(pointer != nullptr, ncclInvalidArgument, fmt::format("{} is NULL", name));
  cudaPointerAttributes attributes{};
  const cudaError_t error = cudaPointerGetAttributes(&attributes, pointer);
  require(error == cudaSuccess && attributes.type != cudaMemoryTypeUnregistered, ncclInvalidArgument,
          fmt::format("{} is no memory that a GPU can reach (allocate it with cudaMalloc)", name));
  require(attributes.type != cudaMemoryTypeDevice || attributes.device == comm.device, ncclInvalidArgument,
          fmt::format("{} is memory of device {}, but rank {} uses device {} (a rank's buffers lie on its "
                      "own device, and of a reduction only the root receives)",
                      name, attributes.device, comm.rank(), comm.device));
}

void check_stream(const ncclComm& comm, cudaStream_t stream) {
  UseDevice use(comm.device);
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capturing), "cudaStreamIsCapturing");
  require(capturing == cudaStreamCaptureStatusNone, ncclInvalidUsage,
          "the stream is being captured into a graph, which the stand-in does not support");
  // CUDA has it since 12.8.
  using GetDevice = cudaError_t (*)(cudaStream_t, int*);
  static const auto device_of = reinterpret_cast<GetDevice>(dlsym(RTLD_DEFAULT, "cudaStreamGetDevice"));
  int device = comm.device;
  if (stream == nullptr || device_of == nullptr || device_of(stream, &device) != cudaSuccess) return;
  require(
      device == comm.device, ncclUnhandledCudaError,
      fmt::format("the stream belongs to device {}, but rank {} uses device {} (call cudaSetDevice before "
                  "cudaStreamCreate)",
                  device, comm.rank(), comm.device));
}

struct Arguments {
  Kind kind;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  int type = -1, op = -1, peer = -1;
};

ncclResult_t issue(const char* name, const Arguments& arguments, ncclComm_t handle, cudaStream_t stream) {
  return entry(name, [&] {
    ncclComm& comm = usable(handle);
    const bool is_between = arguments.kind == Kind::send || arguments.kind == Kind::receive;
    const bool is_rooted = arguments.kind == Kind::reduce || arguments.kind == Kind::broadcast;
    require(size_of(arguments.type) > 0, ncclInvalidArgument,
            arguments.type == ncclFloat8e4m3 || arguments.type == ncclFloat8e5m2
                ? "the stand-in does not have 8-bit floating-point types"
                : fmt::format("{} is no type", arguments.type));
    require(arguments.op >= -1 && arguments.op < ncclNumOps, ncclInvalidArgument,
            fmt::format("{} is no operator", arguments.op));
    if (is_between || is_rooted)
      require(arguments.peer >= 0 && arguments.peer < comm.size(), ncclInvalidArgument,
              fmt::format("there is no rank {} in a communicator of {}", arguments.peer, comm.size()));
    const bool is_root = !is_rooted || arguments.peer == comm.rank();
    if (arguments.count > 0) {
      if (arguments.kind != Kind::receive && (arguments.kind != Kind::broadcast || is_root))
        check_buffer(comm, arguments.send, "the buffer to send");
      if (arguments.kind != Kind::send && (arguments.kind != Kind::reduce || is_root))
        check_buffer(comm, arguments.receive, "the buffer to receive");
    }
    check_stream(comm, stream);
    Call call{.kind = arguments.kind,
              .type = arguments.type,
              .op = arguments.op,
              .peer = arguments.peer,
              .count = arguments.count};
    comm.segment->keep(call, call_site());
    return add(Request{&comm, call, arguments.send, arguments.receive, stream});
  });
}

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

ncclResult_t ncclMemAlloc(void** pointer, size_t bytes) {
  return entry("ncclMemAlloc", [&] {
    check(cudaMalloc(pointer, bytes), "cudaMalloc");
    return ncclSuccess;
  });
}
ncclResult_t ncclMemFree(void* pointer) {
  return entry("ncclMemFree", [&] {
    check(cudaFree(pointer), "cudaFree");
    return ncclSuccess;
  });
}

ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclReduce", {Kind::reduce, send, receive, count, type, static_cast<int>(op), root}, comm,
               stream);
}
ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclAllReduce", {Kind::all_reduce, send, receive, count, type, static_cast<int>(op)}, comm,
               stream);
}
ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclBroadcast", {Kind::broadcast, send, receive, count, type, -1, root}, comm, stream);
}
ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return issue("ncclBcast", {Kind::broadcast, buffer, buffer, count, type, -1, root}, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t receive_count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclReduceScatter",
               {Kind::reduce_scatter, send, receive, receive_count, type, static_cast<int>(op)}, comm,
               stream);
}
ncclResult_t ncclAllGather(const void* send, void* receive, size_t send_count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclAllGather", {Kind::all_gather, send, receive, send_count, type}, comm, stream);
}
ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return issue("ncclSend", {Kind::send, send, nullptr, count, type, -1, peer}, comm, stream);
}
ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return issue("ncclRecv", {Kind::receive, nullptr, receive, count, type, -1, peer}, comm, stream);
}

// NVIDIA's library has no such functions: for programs that check whether NCCL was used (common/lab).
unsigned long long warpfold_nccl_calls(void) {
  return calls_so_far();
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
