// NCCL's functions about memory, windows and operators of a program's own.
#include "arithmetic.hpp"
#include "checked_entry.hpp"
#include "registered_buffers.hpp"

#include <algorithm>
#include <cstring>

using namespace warpfold::nccl;

namespace {

// All of it, as NCCL reaches what is registered.
void check_range(const ncclComm& comm, void* begin, std::size_t size) {
  require(size > 0, ncclInvalidArgument, "the buffer has no bytes");
  check_buffer(comm, begin, "the buffer");
  check_buffer(comm, static_cast<std::byte*>(begin) + size - 1, "the buffer's last byte");
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

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

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t size, void** handle) {
  return entry("ncclCommRegister", [&] {
    const ncclComm& found = usable(comm);
    require(handle != nullptr, ncclInvalidArgument, "the pointer to the handle is NULL");
    check_range(found, buffer, size);
    *handle = register_memory(&found, buffer, size, Registered::buffer);
    return ncclSuccess;
  });
}
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return entry("ncclCommDeregister", [&] {
    require(deregister_memory(&checked(comm), handle, Registered::buffer), ncclInvalidArgument,
            "the handle is none that ncclCommRegister gave for this communicator");
    return ncclSuccess;
  });
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buffer, size_t size, ncclWindow_t* window,
                                    int flags) {
  return entry("ncclCommWindowRegister", [&] {
    const ncclComm& found = usable(comm);
    require(window != nullptr, ncclInvalidArgument, "the pointer to the window is NULL");
    require((flags & ~NCCL_WIN_COLL_SYMMETRIC) == 0, ncclInvalidArgument,
            fmt::format("{} are no flags of a window", flags));
    check_range(found, buffer, size);
    *window = static_cast<ncclWindow_t>(register_memory(&found, buffer, size, Registered::window));
    return ncclSuccess;
  });
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  return entry("ncclCommWindowDeregister", [&] {
    require(deregister_memory(&checked(comm), window, Registered::window), ncclInvalidArgument,
            "the window is none that ncclCommWindowRegister gave for this communicator");
    return ncclSuccess;
  });
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  return entry("ncclRedOpCreatePreMulSum", [&] {
    ncclComm& found = usable(comm);
    require(op != nullptr && scalar != nullptr, ncclInvalidArgument,
            op ? "the pointer to the scalar is NULL" : "the pointer to the operator is NULL");
    require(size_of(type) > 0, ncclInvalidArgument,
            fmt::format("{} is no type, or none that the stand-in has", static_cast<int>(type)));
    require(residence == ncclScalarDevice || residence == ncclScalarHostImmediate, ncclInvalidArgument,
            fmt::format("{} is no ncclScalarResidence_t", static_cast<int>(residence)));
    ScaledSum made{.type = type, .scalar = {}};
    if (residence == ncclScalarDevice) {
      check_buffer(found, scalar, "the scalar");
      made.scalar.pointer = scalar;
    } else {
      std::memcpy(made.scalar.value.data(), scalar, size_of(type));
    }
    auto& all = found.scaled_sums;
    auto unused = std::ranges::find_if(all, [](const auto& each) { return !each; });
    if (unused == all.end()) unused = all.emplace(unused);
    *unused = std::make_unique<ScaledSum>(made);
    *op = static_cast<ncclRedOp_t>(ncclNumOps + (unused - all.begin()));
    return ncclSuccess;
  });
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return entry("ncclRedOpDestroy", [&] {
    ncclComm& found = checked(comm);
    require(found.scaled_sum(op) != nullptr, ncclInvalidArgument,
            fmt::format("{} is no operator that was created for this communicator", static_cast<int>(op)));
    found.scaled_sums[static_cast<std::size_t>(op - ncclNumOps)].reset();
    return ncclSuccess;
  });
}
}
#pragma GCC visibility pop
