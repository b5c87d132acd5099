// NCCL's collectives, sends and receives: what they check before anything is issued.
#include "arithmetic.hpp"
#include "checked_entry.hpp"

#include <dlfcn.h>

using namespace warpfold::nccl;

namespace {

// The number of the capture that the stream is in; 0 if it is in none.
unsigned long long capture_of(const ncclComm& comm, cudaStream_t stream) {
  UseDevice use(comm.device);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long capture = 0;
  check(cudaStreamGetCaptureInfo(stream, &status, &capture), "cudaStreamGetCaptureInfo");
  require(status != cudaStreamCaptureStatusInvalidated, ncclUnhandledCudaError,
          "the stream is in a capture that has already failed");
  return status == cudaStreamCaptureStatusActive ? capture : 0;
}

void check_stream(const ncclComm& comm, cudaStream_t stream) {
  UseDevice use(comm.device);
  // CUDA has it since 12.8.
  using GetDevice = cudaError_t (*)(cudaStream_t, int*);
  static const auto device_of = reinterpret_cast<GetDevice>(dlsym(RTLD_DEFAULT, "cudaStreamGetDevice"));
  int device = comm.device;
  if (stream == nullptr || device_of == nullptr || device_of(stream, &device) != cudaSuccess) return;
  require(device == comm.device, ncclUnhandledCudaError,
          fmt::format("the stream belongs to device {}, but the communicator is rank {}'s, which uses device "
                      "{} (pass a stream that was created "
                      "with this device in use)",
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
    const bool is_rooted = has_root(arguments.kind);
    require(size_of(arguments.type) > 0, ncclInvalidArgument,
            arguments.type == ncclFloat8e4m3 || arguments.type == ncclFloat8e5m2
                ? "the stand-in does not have 8-bit floating-point types"
                : fmt::format("{} is no type", arguments.type));
    const ScaledSum* const scaled = comm.scaled_sum(arguments.op);
    require(scaled || (arguments.op >= -1 && arguments.op < ncclNumOps), ncclInvalidArgument,
            fmt::format("{} is no operator of this communicator's", arguments.op));
    require(!scaled || scaled->type == arguments.type, ncclInvalidArgument,
            "the operator was created for another type (ncclRedOpCreatePreMulSum)");
    if (is_between || is_rooted)
      require(arguments.peer >= 0 && arguments.peer < comm.size(), ncclInvalidArgument,
              fmt::format("there is no rank {} in a communicator of {}", arguments.peer, comm.size()));
    const bool is_root = !is_rooted || arguments.peer == comm.rank();
    if (arguments.count > 0) {
      if (arguments.kind != Kind::receive && (!only_root_sends(arguments.kind) || is_root))
        check_buffer(comm, arguments.send, "the buffer to send");
      if (arguments.kind != Kind::send && (!only_root_receives(arguments.kind) || is_root))
        check_buffer(comm, arguments.receive, "the buffer to receive",
                     only_root_receives(arguments.kind)
                         ? fmt::format("; only the root receives, and this call says that it is rank {}",
                                       arguments.peer)
                         : "");
    }
    check_stream(comm, stream);
    Call call{.kind = arguments.kind,
              .type = arguments.type,
              .op = scaled ? scaled_sum : arguments.op, // the ranks number theirs as they like
              .peer = arguments.peer,
              .count = arguments.count};
    comm.segment->keep(call, call_site());
    return add(Request{.comm = &comm,
                       .call = call,
                       .send = arguments.send,
                       .receive = arguments.receive,
                       .stream = stream,
                       .scalar = scaled ? scaled->scalar : Scalar(),
                       .capture = capture_of(comm, stream)});
  });
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

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
ncclResult_t ncclGather(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclGather", {Kind::gather, send, receive, count, type, -1, root}, comm, stream);
}
ncclResult_t ncclScatter(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream) {
  return issue("ncclScatter", {Kind::scatter, send, receive, count, type, -1, root}, comm, stream);
}
ncclResult_t ncclAlltoAll(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  return issue("ncclAlltoAll", {Kind::all_to_all, send, receive, count, type}, comm, stream);
}
ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return issue("ncclSend", {Kind::send, send, nullptr, count, type, -1, peer}, comm, stream);
}
ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return issue("ncclRecv", {Kind::receive, nullptr, receive, count, type, -1, peer}, comm, stream);
}
}
#pragma GCC visibility pop
