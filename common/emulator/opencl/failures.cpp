#include "failures.hpp"

#include <fmt/format.h>

namespace warpfold::opencl {

void require_cuda(cudaError_t result, cl_int error) {
  if (result == cudaSuccess) return;
  if (result == cudaErrorMemoryAllocation) error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  // An error that stays is that of a kernel, which the runtime has reported; any other is of this call alone.
  cudaGetLastError();
  const bool is_of_a_kernel = cudaPeekAtLastError() != cudaSuccess;
  throw Refusal(error, is_of_a_kernel ? "" : cudaGetErrorString(result));
}

cl_int code_of_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const Refusal& refusal) {
    if (*refusal.what()) fmt::print(stderr, "warpfold: {}: {}\n", function, refusal.what());
    return refusal.code;
  } catch (const std::bad_alloc&) {
    return CL_OUT_OF_HOST_MEMORY;
  } catch (const std::exception& error) {
    fmt::print(stderr, "warpfold: {}: {}\n", function, error.what());
    return CL_OUT_OF_RESOURCES;
  }
}

} // namespace warpfold::opencl
