#include "checking/run.hpp"

#include "checking/profile.hpp"
#include "checking/watchdog.hpp"
#include "cuda_errors.hpp"
#include "device.hpp"

#include <cmath>
#include <fmt/format.h>

#include <cuda_runtime_api.h>

namespace lab {
namespace {

// The advice on time-outs is about GPUs with a display; on the emulator, a hazard says where the kernel was
// stopped.
std::string explained(cudaError_t error) {
  if (!on_emulator() || error != cudaErrorLaunchTimeout) return explain(error);
  return fmt::format("{} ({})", cudaGetErrorString(error), cudaGetErrorName(error));
}

// Errors of a launch or of a kernel that ran. After some of them, the process's device context is gone for
// good.
void collect_errors(Outcome& outcome) {
  const cudaError_t launched = cudaGetLastError();
  const cudaError_t finished = cudaDeviceSynchronize();
  cudaGetLastError();
  if (launched != cudaSuccess) {
    outcome.error = "the launch failed: " + explained(launched);
  } else if (finished != cudaSuccess) {
    outcome.error = "the kernel stopped: " + explained(finished);
  }
  outcome.device_lost = cudaDeviceSynchronize() != cudaSuccess;
  cudaGetLastError();
}

void read_results(const Variant& variant, const void* device_memory, std::size_t rows, Outcome& outcome) {
  const std::size_t width = size_of(variant.type);
  outcome.bits.resize(rows * width);
  if (rows == 0) return;
  if (cudaMemcpy(outcome.bits.data(), device_memory, outcome.bits.size(), cudaMemcpyDeviceToHost) !=
      cudaSuccess) {
    throw CudaError("the result cannot be read back: " + explain(cudaGetLastError()));
  }
  for (std::size_t row = 0; row < rows; ++row) {
    outcome.results.push_back(load_value(variant.type, outcome.bits.data() + row * width));
  }
}

} // namespace

std::string describe(std::size_t n, std::size_t rows) {
  return rows == 1 ? fmt::format("n = {}", n) : fmt::format("{} rows of {}", rows, rows ? n / rows : 0);
}

std::string describe(const Case& given) {
  std::string text = fmt::format("{}, {}", describe(given.n, given.rows), name_of(given.kind));
  if (given.block != usual_block) text += fmt::format(", {} threads per block", given.block);
  if (given.offset != 0) text += ", unaligned";
  return text;
}

std::size_t rows_for(const Variant& variant, std::size_t n, std::optional<std::size_t> asked) {
  if (!variant.by_rows) return 1;
  return asked.value_or(static_cast<std::size_t>(std::sqrt(static_cast<double>(n))));
}

Outcome run_once(const Variant& variant, const Case& given, const Sequence& input) {
  const std::size_t width = size_of(variant.type);
  Outcome outcome;
  DeviceBuffer data("input", given.n * width, given.offset * width), result("result", given.rows * width);
  upload(input, data.data());
  fill_poison(variant.type, given.kind, given.rows, result.data());
  ScratchRun scratch_run;
  if (!variant.in_place) protect_input(data.data(), given.n * width);
  {
    constexpr std::size_t small = 5000; // so few take no time
    run_in_order(given.n <= small);
    // Even a launch for each element, and one more for each step, ends with so many.
    const std::size_t many_launches = 1000 + 2 * given.n;
    const WatchedRun watched(many_launches);
    variant.invoke(variant.function, {data.data(), result.data(), given.n, given.rows, given.block});
    collect_errors(outcome);
    outcome.stopped = watched.was_stopped();
  }
  if (outcome.stopped) outcome.error = no_end(), outcome.device_lost = true;
  protect_input(nullptr, 0);
  if (outcome.device_lost) return outcome;
  read_results(variant, result.data(), given.rows, outcome);
  if (!variant.in_place) {
    if (const std::size_t at = first_change(input, data.data()); at < given.n) {
      outcome.input_change = fmt::format("the input was changed, first at element {}", at);
    }
  }
  for (const std::string& where : {data.damage(), result.damage(), scratch_run.damage()}) {
    if (!where.empty()) outcome.damage = fmt::format("memory was written {}", where);
  }
  return outcome;
}

std::string no_end() {
  std::string text = fmt::format("no end after {:.2g} s", seconds_of_stopped_run());
  if (on_emulator()) {
    const std::size_t launches = launches_so_far();
    text += fmt::format(": the host function does not return; {} launches since the rung's first check",
                        launches);
  }
  return text;
}

void launch_and_wait(const Variant& variant, const Arguments& arguments) {
  const WatchedRun watched;
  variant.invoke(variant.function, arguments);
  Outcome outcome;
  collect_errors(outcome);
  if (!outcome.error.empty()) throw CudaError(outcome.error);
}

} // namespace lab
