#include "checking/run.hpp"

#include "checking/profile.hpp"
#include "checking/watchdog.hpp"
#include "cuda_errors.hpp"
#include "device.hpp"
#include "devices/ranks.hpp"
#include "devices/shared_out.hpp"

#include <cmath>
#include <dlfcn.h>
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
void collect_errors(Outcome& outcome, Shards devices) {
  const cudaError_t launched = cudaGetLastError();
  const auto finished = static_cast<cudaError_t>(wait_for(devices));
  cudaGetLastError();
  if (launched != cudaSuccess) {
    outcome.error = "the launch failed: " + explained(launched);
  } else if (finished != cudaSuccess) {
    outcome.error = "the kernel stopped: " + explained(finished);
  }
  outcome.device_lost = wait_for(devices) != cudaSuccess;
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
  if (given.devices > 1) text += fmt::format(", {} devices", given.devices);
  return text;
}

std::size_t rows_for(const Variant& variant, std::size_t n, std::optional<std::size_t> asked) {
  if (!variant.by_rows) return 1;
  return asked.value_or(static_cast<std::size_t>(std::sqrt(static_cast<double>(n))));
}

namespace {

SharedOut share_out(const Variant& variant, const Case& given, const Sequence& input) {
  if (!variant.processes.begin) return SharedOut(input, given.devices, given.offset);
  return SharedOut(input, given.devices, static_cast<unsigned>(rank()), device_of_rank(), given.offset);
}

Arguments arguments_for(const SharedOut& shared, void* result, const Case& given) {
  Arguments all;
  all.shards = shared.shards().begin(), all.devices = given.devices, all.rank = rank();
  all.result = result, all.n = given.n, all.block = given.block;
  return all;
}

// What NCCL has said last of a mistake; "" if there is no NCCL, or none.
std::string said_by_nccl() {
  using LastError = const char* (*)(void*);
  static const auto last_error = reinterpret_cast<LastError>(dlsym(RTLD_DEFAULT, "ncclGetLastError"));
  const char* text = last_error ? last_error(nullptr) : nullptr;
  return text ? text : "";
}

Outcome run_on_devices(const Variant& variant, const Case& given, const Sequence& input) {
  Outcome outcome;
  run_on_other_ranks(given, input, false);
  const SharedOut shared = share_out(variant, given, input);
  const Shards here = shared.shards();
  const OnDevice first(here[0].device);
  DeviceBuffer result("result", sizeof(float));
  fill_poison(variant.type, given.kind, 1, result.data());
  ScratchRun scratch_run;
  const std::string said_before = said_by_nccl();
  {
    const WatchedRun watched;
    if (variant.set_up) variant.set_up(here);
    cudaSetDevice(here[0].device);
    variant.invoke(variant.function, arguments_for(shared, result.data(), given));
    collect_errors(outcome, here);
    // Its communicators may be of no use from here on, and whoever uses them.
    if (const std::string said = said_by_nccl(); said != said_before && !said.empty())
      outcome.error = "NCCL: " + said, outcome.device_lost = true;
    const std::string error = error_of_other_ranks();
    outcome.error = joined_errors(outcome.error, error);
    if (!error.empty()) outcome.device_lost = true; // of one of the ranks, or soon
    outcome.stopped = watched.was_stopped();
  }
  if (outcome.stopped) outcome.error = no_end(), outcome.device_lost = true;
  if (outcome.device_lost) return outcome;
  end_peer_access(here);
  read_results(variant, result.data(), 1, outcome);
  outcome.input_change = shared.change();
  for (const std::string& where : {shared.damage(), result.damage(), scratch_run.damage()})
    if (!where.empty()) outcome.damage = fmt::format("memory was written {}", where);
  return outcome;
}

} // namespace

Outcome run_once(const Variant& variant, const Case& given, const Sequence& input) {
  if (variant.over_devices) return run_on_devices(variant, given, input);
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
    collect_errors(outcome, {nullptr, 0});
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

void launch_and_wait(const Variant& variant, const Arguments& arguments, Shards devices) {
  const WatchedRun watched;
  variant.invoke(variant.function, arguments);
  Outcome outcome;
  collect_errors(outcome, devices);
  if (!outcome.error.empty()) throw CudaError(outcome.error);
}

Recorded run_counted(const Variant& variant, const Case& given, const Sequence& input) {
  run_on_other_ranks(given, input, true);
  const SharedOut shared = share_out(variant, given, input);
  const Shards here = shared.shards();
  const OnDevice first(here[0].device);
  DeviceBuffer result("result", sizeof(float));
  fill_poison(variant.type, given.kind, 1, result.data());
  if (variant.set_up) variant.set_up(here);
  cudaSetDevice(here[0].device);
  Recorded recorded = record([&] {
    ScratchRun scratch_run;
    launch_and_wait(variant, arguments_for(shared, result.data(), given), here);
    if (const std::string error = error_of_other_ranks(); !error.empty()) throw CudaError(error);
  });
  end_peer_access(here);
  return recorded;
}

} // namespace lab
