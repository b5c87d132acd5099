#include "checked_entry.hpp"

namespace warpfold::nccl {

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

void check_buffer(const ncclComm& comm, const void* pointer, const char* name, const std::string& remark) {
  require(pointer != nullptr, ncclInvalidArgument, fmt::format("{} is NULL", name));
  cudaPointerAttributes attributes{};
  const cudaError_t error = cudaPointerGetAttributes(&attributes, pointer);
  require(error == cudaSuccess && attributes.type != cudaMemoryTypeUnregistered, ncclInvalidArgument,
          fmt::format("{} is no memory that a GPU can reach (allocate it with cudaMalloc)", name));
  require(attributes.type != cudaMemoryTypeDevice || attributes.device == comm.device, ncclInvalidArgument,
          fmt::format("{} is memory of device {}, but the communicator is rank {}'s, which uses device {} (a "
                      "rank's buffers lie on its own device{})",
                      name, attributes.device, comm.rank(), comm.device, remark));
}

} // namespace warpfold::nccl
