#include "report/report.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/hazard_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lab {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Diagnosis& diagnosis) {
  return {{"kind", diagnosis.kind}, {"text", diagnosis.text}};
}

ordered_json to_json(const Check& check) {
  ordered_json out{{"name", check.name}, {"ok", check.ok}};
  if (check.skipped) out["skipped"] = true;
  if (!check.message.empty()) out["message"] = check.message;
  if (!check.diagnosis.kind.empty()) out["diagnosis"] = to_json(check.diagnosis);
  return out;
}

ordered_json to_json(const Hazard& hazard) {
  return {{"kind", hazard.kind},
          {"file", hazard.file},
          {"line", hazard.line},
          {"other_file", hazard.other_file},
          {"other_line", hazard.other_line},
          {"launch", hazard.launch},
          {"call_line", hazard.call_line},
          {"message", hazard.message},
          {"why", hazard.why},
          {"advice", hazard.advice},
          {"read", hazard.read}};
}

ordered_json to_json(const Profile& profile) {
  ordered_json counters;
  for (const auto& [key, value] : profile.totals) {
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) == value) {
      counters[key] = whole;
    } else {
      counters[key] = value;
    }
  }
  return {{"n", profile.n},         {"rows", profile.rows},
          {"block", profile.block}, {"launches", profile.launches},
          {"counters", counters},   {"report", ordered_json::parse(profile.report)}};
}

ordered_json known(double value) {
  return value > 0 ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json to_json(const Timing& timing) {
  const auto percent_of = [&](double bandwidth) {
    return known(bandwidth > 0 ? 100 * timing.bytes_per_second / bandwidth : 0);
  };
  return {{"n", timing.n},
          {"rows", timing.rows},
          {"block", timing.block},
          {"repetitions", timing.repetitions},
          {"median_us", timing.median},
          {"low_us", timing.low},
          {"high_us", timing.high},
          {"gb_per_s", 1e-9 * timing.bytes_per_second},
          {"peak_gb_per_s", known(1e-9 * timing.peak_bandwidth)},
          {"percent_of_peak", percent_of(timing.peak_bandwidth)},
          {"measured_gb_per_s", known(1e-9 * timing.measured_bandwidth)},
          {"percent_of_measured", percent_of(timing.measured_bandwidth)},
          {"cpu_loop_us", timing.cpu_loop},
          {"speed_up_over_cpu", known(timing.speed_up_over_cpu)},
          {"speed_up_over_rung_before", known(timing.speed_up_over_rung_before)}};
}

ordered_json to_json(const Result& result) {
  ordered_json out{{"name", result.rung}, {"state", name_of(result.state)}, {"reason", result.reason}};
  if (result.line > 0) out["file"] = result.file, out["line"] = result.line;
  if (!result.diagnosis.kind.empty()) out["diagnosis"] = to_json(result.diagnosis);
  out["checks"] = ordered_json::array();
  for (const Check& check : result.checks) out["checks"].push_back(to_json(check));
  out["hazards"] = ordered_json::array();
  for (const Hazard& hazard : result.hazards) out["hazards"].push_back(to_json(hazard));
  if (result.profile) out["profile"] = to_json(*result.profile);
  if (result.timing) out["time"] = to_json(*result.timing);
  return out;
}

Diagnosis diagnosis_in(const ordered_json& json) {
  if (!json.contains("diagnosis")) return {};
  const ordered_json& diagnosis = json.at("diagnosis");
  return {.kind = diagnosis.value("kind", ""), .text = diagnosis.value("text", "")};
}

Check check_from(const ordered_json& json) {
  Check check;
  check.name = json.value("name", "");
  check.ok = json.value("ok", true);
  check.skipped = json.value("skipped", false);
  check.message = json.value("message", "");
  check.diagnosis = diagnosis_in(json);
  return check;
}

State state_from(std::string_view name) {
  for (const StateRow& row : states) {
    if (row.name == name) return row.state;
  }
  return State::wrong;
}

} // namespace

void print_list(const Heading& heading, std::span<const Rung> rungs, const std::vector<Region>& regions,
                bool as_json) {
  ordered_json list = ordered_json::array();
  for (const Rung& rung : rungs) {
    const Region* todo = next_todo(regions, rungs, rung);
    const bool to_repair = !todo && rung.to_repair && (todo = next_repair(regions, rung));
    ordered_json entry{{"name", rung.name}, {"state", to_repair ? "broken" : todo ? "todo" : "filled"}};
    if (rung.variants[0].over_devices) entry["over_devices"] = true;
    if (rung.variants[0].processes.begin) entry["in_processes"] = true;
    if (todo) entry.update({{"file", heading.source}, {"line", todo->todo_line}, {"todo", todo->todo}});
    list.push_back(entry);
    if (as_json) continue;
    fmt::print(
        "{:<26} {}\n", rung.name,
        todo ? fmt::format("{:<7} {}:{}", to_repair ? "broken" : "todo", heading.source, todo->todo_line)
             : "filled");
  }
  if (!as_json) return;
  const ordered_json out{{"lab", heading.lab}, {"source", heading.source}, {"rungs", list}};
  fmt::print("{}\n", out.dump(2));
}

void print_json(std::FILE* file, const Heading& heading, std::span<const Result> results,
                std::span<const std::string> more) {
  const Device& used = device();
  ordered_json out{{"lab", heading.lab}, {"source", heading.source}};
  if (!used.name.empty()) {
    out["device"] = {{"name", used.name},
                     {"kind", used.emulated ? "emulator" : "gpu"},
                     {"compute_capability",
                      fmt::format("{}.{}", used.compute_capability / 10, used.compute_capability % 10)},
                     {"multiprocessors", used.multiprocessors}};
  }
  out["rungs"] = ordered_json::array();
  for (const Result& result : results) out["rungs"].push_back(to_json(result));
  for (const std::string& text : more) {
    const auto rest = ordered_json::parse(text);
    for (const auto& rung : rest.at("rungs")) out["rungs"].push_back(rung);
  }
  fmt::print(file, "{}\n", out.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

std::vector<Result> results_from_json(std::string_view text) {
  std::vector<Result> results;
  const ordered_json all = ordered_json::parse(text);
  for (const auto& rung : all.at("rungs")) {
    Result result;
    result.rung = rung.at("name");
    result.state = state_from(rung.at("state").get<std::string>());
    result.reason = rung.value("reason", "");
    result.file = rung.value("file", "");
    result.line = rung.value("line", 0);
    result.diagnosis = diagnosis_in(rung);
    for (const auto& check : rung.value("checks", ordered_json::array()))
      result.checks.push_back(check_from(check));
    for (const auto& hazard : rung.value("hazards", ordered_json::array()))
      result.hazards.push_back(hazard_from(hazard));
    results.push_back(result);
  }
  return results;
}

} // namespace lab
