#include "runtime.hpp"

#include "runtime/reporting/host_faults.hpp"
#include "runtime/reporting/signals.hpp"

#include "runtime/devices/devices.hpp"
#include "runtime/reporting/errors.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace warpfold::runtime {
namespace {

// Addresses are reserved for twice the device's memory and 1 GiB (AddressSpace), and for each of their bytes,
// the checks reserve up to ten of their own.
std::uint64_t what_fits_into_the_address_space() {
  constexpr std::uint64_t gib = 1ull << 30, share = 12, least = 64ull << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~0ull;
  if (limit.rlim_cur < share * (gib + 2 * least))
    say(fmt::format("the address space is limited to {} MiB (ulimit -v); the emulator may need {} MiB",
                    limit.rlim_cur >> 20, (share * (gib + 2 * least)) >> 20));
  const std::uint64_t reserved = limit.rlim_cur / share;
  return reserved > gib + 2 * least ? (reserved - gib) / 2 : least;
}

// The device has as much memory as the host, within the limits of a container, so that cudaMalloc refuses an
// allocation that cannot be backed instead of the process being killed later.
std::uint64_t memory_of_this_host() {
  std::uint64_t bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::uint64_t limit = 0;
    if (std::ifstream(path) >> limit && limit != 0) bytes = std::min(bytes, limit);
  }
  return std::min(bytes, what_fits_into_the_address_space());
}

bool parse_number(const std::string& text, std::uint64_t& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool set_checks(Options& options, std::string_view names) {
  bool races = false, initialisation = false, leaks = false;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    if (name != "races" && name != "initialisation" && name != "leaks" && name != "all" && name != "none")
      return false;
    races |= name == "races" || name == "all";
    initialisation |= name == "initialisation" || name == "all";
    leaks |= name == "leaks" || name == "all";
  }
  options.check_races = races;
  options.check_initialisation = initialisation;
  options.check_leaks = leaks;
  return true;
}

std::uint64_t traced_block() {
  std::uint64_t block = 0;
  const char* value = std::getenv("WARPFOLD_TRACE_BLOCK");
  if (value && !parse_number(value, block))
    say(fmt::format("WARPFOLD_TRACE_BLOCK={} is ignored: expected the number of a block", value));
  return block;
}

void options_from_environment(Options& options) {
  constexpr struct {
    const char *variable, *name, *expected;
  } variables[] = {
      {"WARPFOLD_WORKERS", "workers", "a number of threads, 0 for one per core"},
      {"WARPFOLD_CHECKS", "checks",
       "none, all, or some of races, initialisation and leaks with commas between"},
      {"WARPFOLD_BOTH_ORDERS", "both-orders", "on, off or waiting"},
      {"WARPFOLD_STEP_LIMIT", "step-limit", "a number of warp instructions, 0 for the default"},
      {"WARPFOLD_SCHEDULE", "schedule", "forwards, backwards, shuffled:SEED or ends"},
      {"WARPFOLD_PRINT_LIMIT", "print-limit", "lines of printf per launch, 0 for all of them"},
      {"WARPFOLD_GUARD_DEVICE_MEMORY", "guard-device-memory", "on or off"},
      {"WARPFOLD_TIME_LIMIT", "time-limit", "milliseconds per launch, 0 for no limit"},
  };
  for (const auto& [variable, name, expected] : variables)
    if (const char* value = std::getenv(variable); value && !set_option(options, name, value))
      say(fmt::format("{}={} is ignored: expected {}", variable, value, expected));
}

} // namespace

bool set_option(Options& options, const std::string& name, const std::string& value) {
  std::uint64_t number = 0;
  if (name == "checks") return set_checks(options, value);
  const bool is_switch = value == "on" || value == "off";
  if (name == "guard-device-memory" && is_switch) {
    options.guard_device_memory = value == "on";
    return true;
  }
  if (name == "both-orders" && (is_switch || value == "waiting")) {
    options.both_orders = value == "on"    ? BothOrders::on
                          : value == "off" ? BothOrders::off
                                           : BothOrders::waiting;
    return true;
  }
  if (name == "workers" && parse_number(value, number) && number <= 1024) {
    options.workers = static_cast<unsigned>(number);
    return true;
  }
  if (name == "step-limit" && parse_number(value, number)) {
    options.step_limit = number;
    return true;
  }
  if (const auto schedule = machine::parse_schedule(value); name == "schedule" && schedule) {
    options.schedule = schedule->order;
    options.schedule_seed = schedule->seed;
    options.ends_only = schedule->ends_only;
    return true;
  }
  if (name == "devices" && parse_number(value, number) && number >= 1 && number <= machine::most_devices)
    return Runtime::get().set_devices(static_cast<int>(number));
  if (name == "print-limit" && parse_number(value, number)) {
    options.print_limit = number;
    return true;
  }
  if (name == "print-limit-in-all" && parse_number(value, number) && number <= UINT32_MAX) {
    options.prints_left = number == 0 ? no_print_limit : static_cast<std::int64_t>(number);
    return true; // set by a lab; has no environment variable
  }
  if (name == "fault-messages" && is_switch) { // set by a lab; has no environment variable
    print_mistakes(value == "on");
    return true;
  }
  if (name == "time-limit" && parse_number(value, number) && number <= UINT32_MAX) {
    options.time_limit = number;
    return true;
  }
  if (name == "provenance" && is_switch) { // set by a lab; has no environment variable
    Runtime& runtime = Runtime::get();
    runtime.provenance = value == "on" ? std::make_unique<analysis::Provenance>(runtime.memory) : nullptr;
    return true;
  }
  if (name == "launches-kept" && parse_number(value, number)) { // set by a lab; has no environment variable
    Runtime::get().recorder.keep_launches(number);
    return true;
  }
  if (name == "work") { // set by a lab; has no environment variable
    Runtime::get().recorder.set_work(value);
    return true;
  }
  if (name == "recording" && parse_number(value, number) && number <= 1) { // has no environment variable
    Runtime::get().recording = number == 1;
    return true;
  }
  return false;
}

Runtime& Runtime::get() {
  static Runtime& runtime = *new Runtime;
  return runtime;
}

analysis::Checker* Runtime::checker() {
  const analysis::Checks wanted{options.check_races, options.check_initialisation};
  if (!wanted.races && !wanted.initialisation) return nullptr;
  std::lock_guard lock(checker_mutex_);
  if (!checker_) checker_ = std::make_unique<analysis::Checker>(memory, recorder);
  checker_->choose(wanted);
  return checker_.get();
}

machine::Watcher* Runtime::watcher() {
  if (provenance) return provenance.get();
  analysis::Checker* const checks = checker();
  if (!tracer || !recording) return checks;
  if (!checks) return tracer.get();
  std::lock_guard lock(checker_mutex_);
  if (!checker_and_tracer_) {
    checker_and_tracer_ =
        std::make_unique<analysis::Several>(std::vector<machine::Watcher*>{checks, tracer.get()});
  }
  return checker_and_tracer_.get();
}

Runtime::Touches::Touches(Runtime& runtime, machine::Watcher* next) : runtime_(runtime) {
  std::lock_guard lock(runtime.checker_mutex_);
  if (runtime.unused_touched_.empty()) {
    touched_ = std::make_unique<analysis::TouchedMemory>(runtime.memory);
  } else {
    touched_ = std::move(runtime.unused_touched_.back());
    runtime.unused_touched_.pop_back();
  }
  touched_->stand_before(next);
}

Runtime::Touches::~Touches() {
  std::lock_guard lock(runtime_.checker_mutex_);
  runtime_.unused_touched_.push_back(std::move(touched_));
}

bool Runtime::set_devices(int count) {
  const std::vector<int> visible = visible_devices(count, std::getenv("CUDA_VISIBLE_DEVICES"));
  if (!memory.share_out(std::max(1, static_cast<int>(visible.size())))) return false;
  visible_ = visible;
  return true;
}

Runtime::Runtime() : memory(memory_of_this_host()), visible_{0} {
  if (const char* value = std::getenv("WARPFOLD_DEVICES")) {
    std::uint64_t count = 0;
    if (parse_number(value, count) && count >= 1 && count <= machine::most_devices)
      set_devices(static_cast<int>(count));
    else
      say(fmt::format("WARPFOLD_DEVICES={} is ignored: expected a number of devices, 1 to {}", value,
                      machine::most_devices));
  }
  options_from_environment(options);
  report_before_signals_end_this_process(*this);
  guard_device_memory(memory, options.guard_device_memory);
  if (const char* path = std::getenv("WARPFOLD_REPORT"); path && *path) {
    report_file.set_path(path);
    recording = true;
    recorder.on_new_hazard = [this] { report_file.keep_up(true, [this] { return recorder.json(); }); };
    // The runtime is first used while the program's static objects are constructed, so this runs after their
    // destructors.
    std::atexit([] { get().report_file.write(get().report(true)); });
  }
  if (const char* path = std::getenv("WARPFOLD_PROGRESS"); path && *path) {
    progress.write_to(path);
    std::atexit([] { get().progress.write(); });
  }
  if (const char* path = std::getenv("WARPFOLD_TRACE"); path && *path) {
    trace_file.set_path(path);
    tracer = std::make_unique<analysis::Tracer>(memory, traced_block());
    std::atexit([] { get().trace_file.write(get().tracer->json()); });
  }
}

} // namespace warpfold::runtime
