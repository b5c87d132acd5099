#include "run/emulator.hpp"

#include "lab.hpp"
#include "run/device.hpp"
#include "run/hazard_json.hpp"
#include "run/many_gpus/ranks.hpp"
#include "run/runner.hpp"

#include "runtime/warpfold_emulator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace lab {
namespace {

template <class Function>
Function* look_up(const char* name) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  if (!symbol) throw std::runtime_error(std::string("the emulator in use has no ") + name + "; rebuild it");
  return reinterpret_cast<Function*>(symbol);
}

void add_to(Profile& profile, const std::string& key, double value) {
  for (auto& [name, total] : profile.totals)
    if (name == key) return void(total += value);
  profile.totals.emplace_back(key, value);
}

// An option of the emulator that this variable of the user's environment sets as well, which takes
// precedence.
void set_unless(const char* variable, const char* option, const std::string& value) {
  if (!std::getenv(variable)) runner().set(option, value);
}

} // namespace

void emulator::reset() {
  look_up<decltype(warpfold_emulator_reset)>("warpfold_emulator_reset")();
}

std::string emulator::report() {
  return look_up<decltype(warpfold_emulator_report)>("warpfold_emulator_report")();
}

void emulator::set(const std::string& option, const std::string& value) {
  look_up<decltype(warpfold_emulator_option)>("warpfold_emulator_option")(option.c_str(), value.c_str());
}

Recorded recorded_from(std::string text) {
  Recorded recorded;
  recorded.profile.report = std::move(text);
  const auto report = nlohmann::ordered_json::parse(recorded.profile.report);
  recorded.profile.launches =
      report.at("launches").size() + report.value("launches_left_out", std::size_t{0});
  if (recorded.profile.launches != 0)
    for (const auto& [key, value] : report.at("total").items())
      recorded.profile.totals.emplace_back(key, value.get<double>());
  // By pair of devices, where there are several.
  double copied = 0;
  if (report.contains("links"))
    for (const auto& link : report.at("links")) copied += link.value("peer_copy_bytes", 0.0);
  recorded.profile.totals.emplace_back("peer_copy_bytes", copied);
  std::map<int, double> launches_by_device;
  for (const auto& launch : report.at("launches")) ++launches_by_device[launch.value("device", 0)];
  for (const auto& [device, count] : launches_by_device) {
    double& most = recorded.profile.launches_of_busiest_device;
    most = std::max(most, count);
  }
  for (const auto& [key, value] : report.at("copies").items())
    recorded.profile.totals.emplace_back(key, value.get<double>());
  for (const auto& hazard : report.at("hazards"))
    if (const std::string explains = hazard.at("explains");
        explains != "error" && (hazard.at("fails_check") || !explains.empty()))
      recorded.hazards.push_back(hazard_from(hazard));
  return recorded;
}

namespace {

// Calls of collectives, sends and receives by this process, or their results; a program that never calls NCCL
// may not be linked to it.
unsigned long long nccl_so_far(const char* function) {
  void* const count = dlsym(RTLD_DEFAULT, function);
  return count ? reinterpret_cast<unsigned long long (*)()>(count)() : 0;
}

} // namespace

Recorded record(const std::function<void()>& run) {
  runner().reset();
  constexpr std::pair<const char*, const char*> counts[] = {
      {"nccl_calls", "warpfold_nccl_calls"},
      {"nccl_results", "warpfold_nccl_results"},
      {"nccl_communicators", "warpfold_nccl_communicators"}};
  unsigned long long before[std::size(counts)];
  std::ranges::transform(counts, before, [](const auto& count) { return nccl_so_far(count.second); });
  run();
  Recorded recorded = recorded_so_far();
  for (std::size_t i = 0; i < std::size(counts); ++i)
    add_to(recorded.profile, counts[i].first, double(nccl_so_far(counts[i].second) - before[i]));
  int rank = 0;
  for (const std::string& report : reports_of_other_ranks()) {
    Recorded other = recorded_from(report);
    ++rank;
    recorded.profile.launches += other.profile.launches;
    for (const auto& [key, value] : other.profile.totals) add_to(recorded.profile, key, value);
    for (Hazard& hazard : other.hazards) {
      hazard.message = fmt::format("{} (on rank {})", hazard.message, rank);
      recorded.hazards.push_back(std::move(hazard));
    }
  }
  return recorded;
}

Recorded record_launches(const std::function<void()>& run) {
  runner().set("launches-kept", "100"); // a host loop that does not end launches thousands of times a second
  Recorded recorded = record(run);
  runner().set("launches-kept", "0");
  return recorded;
}

Recorded recorded_so_far() {
  return recorded_from(runner().report());
}

std::string where_from(const void* results, std::size_t width, std::size_t count) {
  return on_emulator() ? look_up<decltype(warpfold_emulator_provenance)>("warpfold_emulator_provenance")(
                             results, width, count)
                       : "";
}

std::size_t launches_so_far() {
  return on_emulator() ? look_up<decltype(warpfold_emulator_launches)>("warpfold_emulator_launches")() : 0;
}

void leave_out_harmless(std::vector<Hazard>& hazards, bool right, bool not_a_number) {
  std::erase_if(hazards, [&](const Hazard& hazard) {
    return hazard.explains == "wrong" ? right : hazard.explains == "nan" ? right || !not_a_number : false;
  });
}

void run_in_order(bool in_order) {
  if (on_emulator()) set_unless("WARPFOLD_WORKERS", "workers", in_order ? "1" : "0");
}

void check_all_hazards() {
  runner().set("launches-kept", "0"); // a report of them all takes longer to read than to run
  set_unless("WARPFOLD_CHECKS", "checks", "all");
  set_unless("WARPFOLD_BOTH_ORDERS", "both-orders", "waiting");
  runner().set("fault-messages", "off"); // the verdict has them
}

DeviceMemoryClosed::DeviceMemoryClosed() {
  if (on_emulator()) set_unless("WARPFOLD_GUARD_DEVICE_MEMORY", "guard-device-memory", "on");
}

DeviceMemoryClosed::~DeviceMemoryClosed() {
  if (on_emulator()) set_unless("WARPFOLD_GUARD_DEVICE_MEMORY", "guard-device-memory", "off");
}

WithoutChecks::WithoutChecks() {
  if (!on_emulator()) return;
  runner().set("recording", "0");
  set_unless("WARPFOLD_CHECKS", "checks", "none");
}

WithoutChecks::~WithoutChecks() {
  if (!on_emulator()) return;
  set_unless("WARPFOLD_CHECKS", "checks", "all");
  runner().set("recording", "1");
}

Scheduled::Scheduled(const char* order) {
  if (on_emulator()) set_unless("WARPFOLD_SCHEDULE", "schedule", order);
}

Scheduled::~Scheduled() {
  if (on_emulator()) set_unless("WARPFOLD_SCHEDULE", "schedule", "forwards");
}

void restore_variables() {
  if (on_emulator()) runner().set("variables", "initial");
}

EndsOnly::EndsOnly() {
  runner().set("recording", "0");
  runner().set("checks", "none");
  runner().set("schedule", "ends");
}

EndsOnly::~EndsOnly() {
  const auto usual = [](const char* variable, const char* otherwise) {
    const char* set_by_user = std::getenv(variable);
    return set_by_user ? set_by_user : otherwise;
  };
  runner().set("schedule", usual("WARPFOLD_SCHEDULE", "forwards"));
  runner().set("checks", usual("WARPFOLD_CHECKS", "all"));
  runner().set("recording", "1");
}

void limit_steps(std::size_t warp_instructions) {
  set_unless("WARPFOLD_STEP_LIMIT", "step-limit", std::to_string(warp_instructions));
}

void limit_printing() {
  set_unless("WARPFOLD_PRINT_LIMIT", "print-limit", "64"); // lines
  set_unless("WARPFOLD_PRINT_LIMIT", "print-limit-in-all", "192");
}

// Somewhat less than a run may take: the emulator looks at the clock once in a time slice of a block.
void limit_launches(double seconds) {
  constexpr double slice = 0.6, least_part = 0.5;
  const double of_launch = std::max(seconds - slice, least_part * seconds);
  set_unless("WARPFOLD_TIME_LIMIT", "time-limit",
             std::to_string(static_cast<std::size_t>(std::ceil(of_launch * 1000))));
}

void interrupt_device() {
  if (on_emulator()) look_up<decltype(warpfold_emulator_interrupt)>("warpfold_emulator_interrupt")();
}

void protect_input(const void* begin, std::size_t bytes) {
  if (on_emulator()) look_up<decltype(warpfold_emulator_input)>("warpfold_emulator_input")(begin, bytes);
}

void name_memory(const void* begin, const std::string& name) {
  if (on_emulator()) look_up<decltype(warpfold_emulator_name)>("warpfold_emulator_name")(begin, name.c_str());
}

void name_memory(const void* begin, const char* name, int number) {
  name_memory(begin, fmt::format("{} {}", name, number));
}

double Profile::total(std::string_view key) const {
  for (const auto& [name, value] : totals) {
    if (name == key) return value;
  }
  return 0;
}

} // namespace lab
