#include "run/cuda_errors.hpp"

#include "input/source_file.hpp"

#include "runtime/warpfold_emulator.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <string_view>

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
    {cudaErrorLaunchTimeout,
     "does a loop never end, or does the host function call itself? If it only takes "
     "long, a GPU that drives a display ends it after seconds: use fewer elements (--n), "
     "or a GPU without a display"},
    {cudaErrorInvalidResourceHandle,
     "a stream or an event belongs to another device than the one in use, or is no longer there: "
     "cudaSetDevice comes before the work that is meant for a device"},
    {cudaErrorSystemNotReady, "the services that connect the GPUs are not running: an administrator starts "
                              "nvidia-fabricmanager"},
};

// "cudaMemcpy at tree.cu:12 was refused: 16 bytes, but only 4 are left at the source"; "" if that is not
// known.
std::string refusal() {
  static const auto ask = reinterpret_cast<decltype(&warpfold_emulator_refusal)>(
      dlsym(RTLD_DEFAULT, "warpfold_emulator_refusal"));
  if (!ask) return "";
  const char *call = "", *file = nullptr;
  unsigned line = 0;
  const std::string_view why = ask(&call, &file, &line);
  if (why.empty()) return "";
  return fmt::format("{}{} was refused: {}", std::string_view(call) == "launch" ? "the launch" : call,
                     file ? fmt::format(" at {}:{}", find_source(file), line) : "", why);
}

std::string with_advice(cudaError_t error, const std::string& what) {
  std::string text = fmt::format("{} ({})", what, cudaGetErrorName(error));
  for (const Advice& advice : advices)
    if (advice.error == error) return fmt::format("{}; {}", text, advice.text);
  return text;
}

} // namespace

std::string explain(cudaError_t error) {
  return with_advice(error, cudaGetErrorString(error));
}

std::string explain_last_error() {
  const cudaError_t error = cudaPeekAtLastError();
  const std::string refused = refusal();
  return with_advice(error, refused.empty()
                                ? std::string("a launch or another call failed: ") + cudaGetErrorString(error)
                                : refused);
}

} // namespace lab
