#include "cuda_errors.hpp"

#include <fmt/format.h>

namespace lab {
namespace {

struct Advice {
  cudaError_t error;
  const char* text;
};
constexpr Advice advices[] = {
    {cudaErrorMemoryAllocation,
     "nvidia-smi shows which programs use the memory; fewer elements (--n) need less"},
    {cudaErrorECCUncorrectable,
     "the GPU's memory is at fault, not the kernel: nvidia-smi -q -d ECC shows it, "
     "and an administrator has to reset or replace the card"},
    {cudaErrorDevicesUnavailable, "another program has exclusive use of the GPU: nvidia-smi shows which"},
    {cudaErrorLaunchTimeout, "a GPU that drives a display ends kernels that take seconds: use fewer elements "
                             "(--n), or a GPU without a display"},
    {cudaErrorInvalidResourceHandle,
     "a stream or an event belongs to another device than the one in use, or is no longer there: "
     "cudaSetDevice comes before the work that is meant for a device"},
    {cudaErrorSystemNotReady, "the services that connect the GPUs are not running: an administrator starts "
                              "nvidia-fabricmanager"},
};

} // namespace

std::string explain(cudaError_t error) {
  std::string text = fmt::format("{} ({})", cudaGetErrorString(error), cudaGetErrorName(error));
  for (const Advice& advice : advices)
    if (advice.error == error) return fmt::format("{}; {}", text, advice.text);
  return text;
}

} // namespace lab
