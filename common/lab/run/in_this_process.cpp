#include "run/in_this_process.hpp"

#include "run/cuda_errors.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/endings.hpp"
#include "run/many_gpus/ranks.hpp"
#include "run/many_gpus/shared_out.hpp"
#include "run/sandboxed/host_process.hpp"
#include "run/watchdog.hpp"

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
  const cudaError_t last = cudaPeekAtLastError();
  const bool was_refused = last != cudaSuccess && last != cudaErrorNotReady; // which is a query's answer
  const std::string refused = was_refused ? explain_last_error() : "";
  cudaGetLastError();
  const auto finished = static_cast<cudaError_t>(wait_for(devices));
  cudaGetLastError();
  // Of a kernel that has stopped, every later call tells, a launch too.
  if (finished != cudaSuccess) {
    outcome.error = "the kernel stopped: " + explained(finished);
  } else if (was_refused) {
    outcome.error = refused;
  }
  outcome.device_lost = wait_for(devices) != cudaSuccess;
  cudaGetLastError();
}

void read_results(const Variant& variant, const void* device_memory, std::size_t count, Outcome& outcome) {
  const std::size_t width = size_of(variant.result_type);
  outcome.bits.resize(count * width);
  if (count == 0) return;
  if (cudaMemcpy(outcome.bits.data(), device_memory, outcome.bits.size(), cudaMemcpyDeviceToHost) !=
      cudaSuccess) {
    throw DeviceError("the result cannot be read back: " + explain(cudaGetLastError()));
  }
  outcome.results.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    outcome.results.push_back(load_value(variant.result_type, outcome.bits.data() + i * width));
  }
}

Followed followed(std::vector<Followed::Part> input, const Variant& variant, const void* results,
                  std::size_t count) {
  return {where_from(results, size_of(variant.result_type), count), std::move(input),
          reinterpret_cast<std::uint64_t>(results)};
}

Followed::Part part(const void* input, std::size_t first, std::size_t n) {
  return {reinterpret_cast<std::uint64_t>(input), first, n};
}

bool are_host_functions_here = true;

// "", or where the input on the device is no longer what it was.
std::string change_of(const Variant& variant, const Sequence& input, const void* on_device) {
  if (variant.in_place) return "";
  const std::size_t at = first_change(input, on_device);
  return at < input.n ? fmt::format("the input was changed, first at element {}", at) : "";
}

} // namespace

namespace {

SharedOut share_out(const Variant& variant, const Case& given, const Sequence& input) {
  if (!variant.processes.begin) return SharedOut(input, given.devices, given.offset);
  return SharedOut(input, given.devices, static_cast<unsigned>(rank()), device_of_rank(), given.offset);
}

// The shards of this process, and a poisoned result on the first one's device, which is in use meanwhile.
struct OverDevices {
  SharedOut shared;
  OnDevice first;
  DeviceBuffer result{"result", sizeof(float)};

  OverDevices(const Variant& variant, const Case& given, const Sequence& input)
      : shared(share_out(variant, given, input)), first(shared.shards()[0].device) {
    fill_poison(variant.type, given.kind, 1, result.data());
    // A copy to the device may return while its last bytes are on their way, and a rung's own streams do not
    // wait for it.
    wait_for(shards());
  }
  Shards shards() const { return shared.shards(); }
  // As a program does once, before it reduces any number of times.
  void set_up(const Variant& variant) const {
    {
      const DeviceMemoryClosed closed;
      if (variant.set_up) variant.set_up(shards());
    }
    cudaSetDevice(shards()[0].device);
  }
  Arguments arguments(const Case& given) const {
    Arguments all;
    all.shards = shards().begin(), all.devices = given.devices, all.rank = rank();
    all.result = result.data(), all.n = given.n, all.block = given.block;
    return all;
  }
};

// What NCCL has said last of a mistake; "" if there is no NCCL, or none.
std::string said_by_nccl() {
  using LastError = const char* (*)(void*);
  static const auto last_error = reinterpret_cast<LastError>(dlsym(RTLD_DEFAULT, "ncclGetLastError"));
  const char* text = last_error ? last_error(nullptr) : nullptr;
  return text ? text : "";
}

// Of NCCL's stand-in: what is wrong if the rung has begun a group of calls and not ended it, so that none of
// them was made. "" elsewhere.
std::string open_group_of_nccl() {
  void* const ask = dlsym(RTLD_DEFAULT, "warpfold_nccl_open_group");
  return ask ? reinterpret_cast<const char* (*)()>(ask)() : "";
}

Outcome run_on_devices(const Variant& variant, const Case& given, const Sequence& input) {
  Outcome outcome;
  run_on_other_ranks(given, input, false);
  const OverDevices on(variant, given, input);
  const Shards here = on.shards();
  ScratchRun scratch_run;
  const std::string said_before = said_by_nccl();
  {
    for (const Shard& shard : here) protect_input(shard.input, shard.n * sizeof(float));
    const WatchedRun watched;
    on.set_up(variant);
    for (unsigned i = 0; i < given.in_a_row; ++i) call_host_function(variant, on.arguments(given));
    collect_errors(outcome, here);
    // Its communicators and the rungs that use them may fail from here on. Of a kernel that failed, NCCL
    // says no more than that it did.
    if (const std::string said = said_by_nccl(); said != said_before && !said.empty()) {
      if (!outcome.device_lost) outcome.error = "NCCL: " + said;
      outcome.device_lost = true;
    }
    if (const std::string open = open_group_of_nccl(); !open.empty() && !outcome.device_lost)
      outcome.error = "NCCL: " + open, outcome.device_lost = true;
    const std::string error = error_of_other_ranks();
    outcome.error = joined_errors(outcome.error, error);
    if (!error.empty()) outcome.device_lost = true; // of one of the ranks, or soon
    outcome.stopped = watched.was_stopped();
  }
  protect_input(nullptr, 0);
  if (outcome.stopped) outcome.error = no_end(), outcome.device_lost = true;
  if (outcome.device_lost) return outcome;
  std::vector<Followed::Part> parts;
  for (unsigned k = 0; k < here.end() - here.begin(); ++k)
    parts.push_back(part(here[k].input, first_of_part(given.n, given.devices, k), here[k].n));
  outcome.followed = followed(std::move(parts), variant, on.result.data(), 1);
  end_peer_access(here);
  read_results(variant, on.result.data(), 1, outcome);
  outcome.input_change = on.shared.change();
  for (const std::string& where : {on.shared.damage(), on.result.damage(), scratch_run.damage()})
    if (!where.empty()) outcome.damage = fmt::format("memory was written {}", where);
  return outcome;
}

Outcome run_here(const Variant& variant, const Case& given, const Sequence& input) {
  if (variant.over_devices) return run_on_devices(variant, given, input);
  const std::size_t width = size_of(variant.type), results = results_of(variant, given);
  Outcome outcome;
  DeviceBuffer data("input", given.n * width, given.offset * width),
      result("result", results * size_of(variant.result_type));
  upload(input, data.data());
  fill_poison(variant.result_type, given.kind, results, result.data());
  ScratchRun scratch_run;
  {
    if (!variant.in_place) protect_input(data.data(), given.n * width);
    constexpr std::size_t small = 5000; // so few take no time
    run_in_order(given.n <= small);
    // Even a launch for each element, and one more for each step, ends with so many.
    const std::size_t many_launches = 1000 + 2 * given.n;
    const WatchedRun watched(many_launches);
    call_host_function(variant, {data.data(), result.data(), given.n, given.rows, given.block});
    collect_errors(outcome, {nullptr, 0});
    outcome.stopped = watched.was_stopped();
  }
  protect_input(nullptr, 0);
  if (outcome.stopped) outcome.error = no_end(), outcome.device_lost = true;
  if (outcome.device_lost) return outcome;
  outcome.followed = followed({part(data.data(), 0, given.n)}, variant, result.data(), results);
  read_results(variant, result.data(), results, outcome);
  outcome.input_change = change_of(variant, input, data.data());
  for (const std::string& where : {data.damage(), result.damage(), scratch_run.damage()}) {
    if (!where.empty()) outcome.damage = fmt::format("memory was written {}", where);
  }
  return outcome;
}

} // namespace

void call_host_function(const Variant& variant, const Arguments& arguments) {
  if (!are_host_functions_here) return variant.invoke(variant.function, arguments);
  const DeviceMemoryClosed closed;
  try {
    variant.invoke(variant.function, arguments);
  } catch (const DeviceError&) {
    throw;
  } catch (const HostLost&) {
    throw;
  } catch (const std::exception& error) {
    throw DeviceError(exception_text(error));
  }
}

void host_functions_run_elsewhere() {
  are_host_functions_here = false;
}

std::string no_end() {
  std::string text = fmt::format("no end after {:.2g} s", seconds_of_stopped_run());
  if (on_emulator()) {
    const std::size_t launches = launches_so_far();
    text +=
        fmt::format(", with {} launch{} since the rung's first check", launches, launches == 1 ? "" : "es");
  }
  return text;
}

void launch_and_wait(const Variant& variant, const Arguments& arguments, Shards devices) {
  const WatchedRun watched;
  call_host_function(variant, arguments);
  Outcome outcome;
  collect_errors(outcome, devices);
  if (!outcome.error.empty()) throw DeviceError(outcome.error);
}

namespace {

Counted run_counted_on_devices(const Variant& variant, const Case& given, const Sequence& input) {
  run_on_other_ranks(given, input, true);
  const OverDevices on(variant, given, input);
  const Shards here = on.shards();
  on.set_up(variant);
  Counted counted;
  counted.recorded = record_launches([&] {
    ScratchRun scratch_run;
    launch_and_wait(variant, on.arguments(given), here);
    if (const std::string error = error_of_other_ranks(); !error.empty()) throw DeviceError(error);
  });
  end_peer_access(here);
  if (rank() != 0) return counted; // what it copied for a check would count
  read_results(variant, on.result.data(), 1, counted.outcome);
  counted.outcome.input_change = on.shared.change();
  return counted;
}

Counted count_here(const Variant& variant, const Case& given, const Sequence& input) {
  if (variant.over_devices) return run_counted_on_devices(variant, given, input);
  const std::size_t results = results_of(variant, given);
  DeviceBuffer data("input", input.n * size_of(variant.type)),
      result("result", results * size_of(variant.result_type));
  upload(input, data.data());
  fill_poison(variant.result_type, given.kind, results, result.data());
  Counted counted;
  counted.recorded = record_launches([&] {
    ScratchRun scratch_run;
    launch_and_wait(variant, {data.data(), result.data(), given.n, given.rows, given.block});
  });
  read_results(variant, result.data(), results, counted.outcome);
  counted.outcome.input_change = change_of(variant, input, data.data());
  return counted;
}

std::optional<Outcome> run_ends_here(const Variant& variant, const SparseInput& input) {
  const std::size_t width = size_of(variant.type);
  if (!on_emulator() || input.n > device().memory / width) return std::nullopt;
  const EndsOnly blocks_at_the_ends;
  DeviceBuffer data("input", input.n * width), result("result", input.rows * size_of(variant.result_type));
  for (const auto& [place, numbers] : input.parts)
    upload(numbers, static_cast<std::byte*>(data.data()) + place * width);
  fill_poison(variant.result_type, Kind::exact, input.rows, result.data());
  ScratchRun scratch_run(ScratchRun::Memory::zeroed); // the blocks that do not run store nothing
  Outcome outcome;
  {
    const WatchedRun watched;
    call_host_function(variant, {data.data(), result.data(), input.n, input.rows, input.block});
    collect_errors(outcome, {nullptr, 0});
    outcome.stopped = watched.was_stopped();
  }
  if (outcome.stopped) outcome.error = no_end(), outcome.device_lost = true;
  if (!outcome.device_lost) read_results(variant, result.data(), input.rows, outcome);
  return outcome;
}

class InThisProcess final : public Runner {
public:
  void reset() override { emulator::reset(); }
  std::string report() override { return emulator::report(); }
  void set(const std::string& option, const std::string& value) override { emulator::set(option, value); }
  std::optional<Outcome> run_ends(const Variant& variant, const SparseInput& input) override {
    return run_ends_here(variant, input);
  }

private:
  Outcome do_run(const Variant& variant, const Case& given, const Sequence& input) override {
    return run_here(variant, given, input);
  }
  Counted do_count(const Variant& variant, const Case& given, const Sequence& input) override {
    return count_here(variant, given, input);
  }
};

std::unique_ptr<Runner>& chosen_runner() {
  static std::unique_ptr<Runner> chosen = runner_in_this_process();
  return chosen;
}

} // namespace

std::unique_ptr<Runner> runner_in_this_process() {
  return std::make_unique<InThisProcess>();
}

Runner& runner() {
  return *chosen_runner();
}

void use_runner(std::unique_ptr<Runner> chosen) {
  chosen_runner() = std::move(chosen);
}

Outcome run_once(const Variant& variant, const Case& given, const Sequence& input) {
  if (on_emulator()) runner().set("work", describe(given));
  return runner().run(variant, given, input);
}

Counted run_counted(const Variant& variant, const Case& given, const Sequence& input) {
  if (on_emulator()) runner().set("work", describe(given));
  return runner().count(variant, given, input);
}

Outcome run_followed(const Variant& variant, const Case& given, const Sequence& input) {
  if (!on_emulator()) return run_once(variant, given, input);
  const WithoutChecks fast;
  runner().set("provenance", "on");
  struct Off {
    ~Off() { runner().set("provenance", "off"); }
  } at_the_end;
  Outcome outcome = run_once(variant, given, input);
  outcome.followed.in_opencl = variant.in_opencl, outcome.followed.in_place = variant.in_place;
  return outcome;
}

} // namespace lab
