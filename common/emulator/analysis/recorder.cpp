#include "counters.hpp"
#include "report.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace warpfold::analysis {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Counters& counters) {
  Json json;
#define COUNTED(key, ...) json[#key] = counters.key;
#define COUNTED_PER_LAUNCH(...)
#define COUNTED_PER_LINE(...)
#define COUNTED_MOST(...)
#define RATIO(key, ...) json[#key] = counters.key();
#include "counted.def"
#undef COUNTED
#undef COUNTED_PER_LAUNCH
#undef COUNTED_PER_LINE
#undef COUNTED_MOST
#undef RATIO
  return json;
}

Json to_json(const machine::Dim3& size) {
  return Json::array({size.x, size.y, size.z});
}

// Of one launch, or of all launches together.
Json to_json(const Counters& counters, const LaunchTotals& totals) {
  Json json = to_json(counters);
  json["blocks"] = totals.blocks;
  json["warps"] = totals.warps;
  json["grid_size_uses"] = totals.grid_size_uses;
  json["bytes_read_by_thread"] = totals.busiest.thread;
  json["bytes_read_by_warp"] = totals.busiest.warp;
  json["bytes_read_by_block"] = totals.busiest.block;
  json["bytes_spanned_by_block"] = totals.busiest.span_of_block;
  json["shared_bytes_read_by_thread"] = totals.busiest.thread_in_shared;
  json["strong_loads_in_flight"] = totals.strong_loads_in_flight;
  json["bulk_loads_in_flight"] = totals.busiest.bulk_loads;
  return json;
}

Json to_json(const machine::LaunchRecord& record, const LaunchCounters& counted) {
  Json lines = Json::array();
  for (const LineCounters& line : counted.lines) {
    Json entry{{"file", line.line.file}, {"line", line.line.line}, {"executions", line.executions}};
    entry.update(to_json(line.counters));
    lines.push_back(std::move(entry));
  }
  return {{"kernel", record.kernel},
          {"device", record.device},
          {"grid", to_json(record.shape.grid)},
          {"block", to_json(record.shape.block)},
          {"dynamic_shared", record.shape.dynamic_shared},
          {"counters", to_json(counted.total, totals_of(record))},
          {"lines", std::move(lines)}};
}

bool same(const machine::SourceLine& x, const machine::SourceLine& y) {
  return x.line == y.line && x.file == y.file;
}

bool has_place(const Hazard& hazard, const machine::SourceLine& place) {
  return same(hazard.where, place) || same(hazard.other, place);
}

bool same_place(const Hazard& a, const Hazard& b) {
  if (a.kind != b.kind || !same(a.where, b.where) || !same(a.other, b.other)) return false;
  // Where no line is known, the message names the work. What fails no check is counted together.
  const bool is_fault_of_host = facts(a.kind).of_host && facts(a.kind).fails_check;
  return !is_fault_of_host || a.where.line != 0 || a.message == b.message;
}

} // namespace

struct Recorder::State {
  // What went over the link between two devices: loads and stores by the first in the second's memory, and
  // copies from the first to the second.
  struct Link {
    std::uint64_t load_sectors = 0, store_sectors = 0, copy_bytes = 0;
  };
  std::mutex mutex;
  Json launches = Json::array();
  std::size_t most_launches = 10'000;
  std::atomic<std::size_t> launch_count{0};
  std::uint64_t launches_left_out = 0; // a host loop that never ends must not fill the memory
  Counters total;                      // of all launches
  LaunchTotals totals;
  std::uint64_t bytes_to_host = 0, bytes_to_device = 0, bytes_on_devices = 0, host_waits = 0,
                serialised_copies = 0, pulled_copies = 0, launches_after_others = 0,
                launches_in_both_orders = 0;
  std::map<std::pair<int, int>, Link> between;
  std::string work;
  std::vector<Hazard> hazards;
  std::vector<std::uint64_t> times; // parallel to `hazards`: how often each occurred
};

Recorder::Recorder() : state_(std::make_unique<State>()) {}
Recorder::~Recorder() = default;

void Recorder::add(const machine::LaunchRecord& record) {
  const LaunchCounters counted = count(record);
  state_->launch_count.fetch_add(1, std::memory_order_relaxed);
  std::unique_lock lock(state_->mutex);
  if (state_->launches.size() < state_->most_launches) {
    lock.unlock(); // it takes long
    Json json = to_json(record, counted);
    lock.lock();
    state_->launches.push_back(std::move(json));
  } else {
    ++state_->launches_left_out;
  }
  state_->total += counted.total;
  state_->totals += totals_of(record);
  for (unsigned owner = 0; owner < machine::most_devices; ++owner) {
    if (record.links.load_sectors[owner] == 0 && record.links.store_sectors[owner] == 0) continue;
    State::Link& link = state_->between[{record.device, static_cast<int>(owner)}];
    link.load_sectors += record.links.load_sectors[owner];
    link.store_sectors += record.links.store_sectors[owner];
  }
}

void Recorder::set_work(std::string words) {
  std::lock_guard lock(state_->mutex);
  state_->work = std::move(words);
}

void Recorder::keep_launches(std::size_t most) {
  std::lock_guard lock(state_->mutex);
  state_->most_launches = most;
}

void Recorder::add_copy(bool to_host, std::uint64_t bytes) {
  std::lock_guard lock(state_->mutex);
  (to_host ? state_->bytes_to_host : state_->bytes_to_device) += bytes;
}

void Recorder::add_copy_on_devices(std::uint64_t bytes) {
  std::lock_guard lock(state_->mutex);
  state_->bytes_on_devices += bytes;
}

void Recorder::add_host_wait() {
  std::lock_guard lock(state_->mutex);
  ++state_->host_waits;
}

void Recorder::add_serialised_copy() {
  std::lock_guard lock(state_->mutex);
  ++state_->serialised_copies;
}

void Recorder::add_pulled_copy() {
  std::lock_guard lock(state_->mutex);
  ++state_->pulled_copies;
}

void Recorder::add_launch_after_others() {
  std::lock_guard lock(state_->mutex);
  ++state_->launches_after_others;
}

void Recorder::add_peer_copy(int from, int to, std::uint64_t bytes) {
  std::lock_guard lock(state_->mutex);
  state_->between[{from, to}].copy_bytes += bytes;
}

void Recorder::add(Hazard hazard) {
  std::unique_lock lock(state_->mutex);
  auto& hazards = state_->hazards;
  hazard.during = state_->work;
  auto known =
      std::find_if(hazards.begin(), hazards.end(), [&](const Hazard& h) { return same_place(h, hazard); });
  if (known != hazards.end()) {
    ++state_->times[static_cast<std::size_t>(known - hazards.begin())];
    if (hazard.reach > known->reach) *known = std::move(hazard);
    return;
  }
  hazards.push_back(std::move(hazard));
  state_->times.push_back(1);
  lock.unlock();
  if (on_new_hazard) on_new_hazard();
}

void Recorder::place_launch(const std::string& call, const std::string& with_place) {
  std::lock_guard lock(state_->mutex);
  for (Hazard& hazard : state_->hazards)
    if (hazard.launch == call) hazard.launch = with_place;
}

void Recorder::add_new(const std::vector<Hazard>& of_another_run) {
  const auto is_race = [](const Hazard& hazard) {
    return std::string_view(facts(hazard.kind).group) == "race";
  };
  for (const Hazard& hazard : of_another_run) {
    if (hazard.kind == HazardKind::not_checked) continue;
    std::unique_lock lock(state_->mutex);
    // In the other order, the two change their parts.
    const bool known = std::ranges::any_of(state_->hazards, [&](const Hazard& h) {
      return same_place(h, hazard) ||
             (is_race(h) && is_race(hazard) && (has_place(h, hazard.where) || has_place(h, hazard.other)));
    });
    lock.unlock();
    if (!known) add(hazard);
  }
}

std::vector<Hazard> Recorder::take_hazards() {
  std::lock_guard lock(state_->mutex);
  state_->times.clear();
  return std::exchange(state_->hazards, {});
}

void Recorder::add_launch_in_both_orders() {
  std::lock_guard lock(state_->mutex);
  ++state_->launches_in_both_orders;
}

void Recorder::reset() {
  std::lock_guard lock(state_->mutex);
  state_->launches = Json::array();
  state_->launches_left_out = state_->launches_in_both_orders = 0;
  state_->launch_count = 0;
  state_->total = {};
  state_->totals = {};
  state_->bytes_to_host = state_->bytes_to_device = state_->bytes_on_devices = 0;
  state_->host_waits = state_->serialised_copies = state_->pulled_copies = state_->launches_after_others = 0;
  state_->between.clear();
  state_->hazards.clear();
  state_->times.clear();
}

std::size_t Recorder::launch_count() const {
  return state_->launch_count.load(std::memory_order_relaxed);
}

std::size_t Recorder::hazard_count() const {
  std::lock_guard lock(state_->mutex);
  return state_->hazards.size();
}

std::string Recorder::json() const {
  std::lock_guard lock(state_->mutex);
  Json hazards = Json::array();
  for (std::size_t i = 0; i < state_->hazards.size(); ++i) {
    const Hazard& hazard = state_->hazards[i];
    const auto& [kind, read, group, fails_check, explains, of_host] = facts(hazard.kind);
    const auto& [why, advice] = facts(cause_in_its_language(hazard));
    hazards.push_back({{"kind", kind},
                       {"file", hazard.where.file},
                       {"line", hazard.where.line},
                       {"other_file", hazard.other.file},
                       {"other_line", hazard.other.line},
                       {"call_line", hazard.where.call_line},
                       {"message", hazard.message},
                       {"launch", hazard.launch},
                       {"during", hazard.during},
                       {"why", why},
                       {"advice", advice},
                       {"read", read},
                       {"group", group},
                       {"rank", static_cast<int>(hazard.kind)},
                       {"fails_check", fails_check},
                       {"of_host", of_host},
                       {"explains", explains},
                       {"times", state_->times[i]}});
  }
  Json report{{"launches", state_->launches},
              {"total", to_json(state_->total, state_->totals)},
              {"copies",
               {{"bytes_to_host", state_->bytes_to_host},
                {"bytes_to_device", state_->bytes_to_device},
                {"bytes_on_devices", state_->bytes_on_devices},
                {"host_waits", state_->host_waits},
                {"serialised_copies", state_->serialised_copies},
                {"pulled_copies", state_->pulled_copies},
                {"launches_after_others", state_->launches_after_others}}},
              {"hazards", std::move(hazards)}};
  for (const auto& [devices, link] : state_->between)
    report["links"].push_back({{"from", devices.first},
                               {"to", devices.second},
                               {"peer_load_sectors", link.load_sectors},
                               {"peer_store_sectors", link.store_sectors},
                               {"peer_copy_bytes", link.copy_bytes}});
  if (state_->launches_in_both_orders != 0)
    report["launches_in_both_orders"] = state_->launches_in_both_orders;
  if (state_->launches_left_out != 0) report["launches_left_out"] = state_->launches_left_out;
  return report.dump(1, ' ', false, Json::error_handler_t::replace);
}

} // namespace warpfold::analysis
