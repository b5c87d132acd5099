#include "report/report.hpp"

#include "input/case.hpp"
#include "report/terminal.hpp"
#include "run/device.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <map>
#include <set>
#include <utility>

namespace lab {

bool is_failure(State state, bool todo_fails) {
  if (state == State::todo) return todo_fails;
  return state != State::pass && state != State::skip;
}

namespace {

// The path as a reader would type it in the current folder; a file elsewhere keeps its whole path.
std::string as_typed(const std::string& file) {
  std::error_code unknown;
  const std::string near = std::filesystem::proximate(file, unknown).string();
  return unknown || near.empty() || near.starts_with("..") ? file : near;
}

std::string place_of(const Result& result) {
  return result.line > 0 ? fmt::format("{}:{}", as_typed(result.file), result.line) : "";
}

std::string count_text(double value) {
  if (value == static_cast<double>(static_cast<long long>(value))) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3f}", value);
}

void print_timing(const Timing& timing) {
  fmt::print("    {:.2f} us (quartiles {:.2f} to {:.2f}, {} runs), {}, {} threads per block\n", timing.median,
             timing.low, timing.high, timing.repetitions, describe(timing.n, timing.rows), timing.block);
  const double measured = 100 * timing.bytes_per_second / timing.measured_bandwidth;
  const std::string peak = timing.peak_bandwidth > 0
                               ? fmt::format("{:.1f} % of the peak by the device's attributes",
                                             100 * timing.bytes_per_second / timing.peak_bandwidth)
                               : "the driver does not know the peak";
  fmt::print("    {:.1f} GB/s: {:.1f} % of the bandwidth of a kernel that only reads ({:.0f} GB/s); {}\n",
             1e-9 * timing.bytes_per_second, measured, 1e-9 * timing.measured_bandwidth, peak);
  std::vector<std::string> ratios;
  if (timing.cpu_loop > 0)
    ratios.push_back(
        fmt::format("{:.1f} times a CPU loop ({:.1f} us)", timing.speed_up_over_cpu, timing.cpu_loop));
  if (timing.speed_up_over_rung_before > 0)
    ratios.push_back(fmt::format("{:.2f} times the previous rung", timing.speed_up_over_rung_before));
  if (!ratios.empty()) fmt::print("    {}\n", fmt::join(ratios, ", "));
}

void print_profile(const Profile& profile) {
  fmt::print("    counted on the emulator, {}, {} threads per block, {} launch{}\n",
             describe(profile.n, profile.rows), profile.block, profile.launches,
             profile.launches == 1 ? "" : "es");
  for (const auto& [key, value] : profile.totals) fmt::print("    {:>14} {}\n", count_text(value), key);
}

// TAP points must not contain '#', which starts a directive.
std::string tap_text(std::string text) {
  for (char& c : text) {
    if (c == '#' || c == '\n') c = ' ';
  }
  return text;
}

void print_lines(std::string_view before, std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    fmt::print("{}{}\n", before, text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

// For people: a line too long for the terminal continues below, aligned with the text and not with a heading
// such as "  why:  ".
void print_wrapped(std::string_view before, std::string_view text) {
  const unsigned width = terminal_width();
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const bool headed =
        indent > 0 && line.size() > indent + 6 && line.substr(indent + 3, 3).find(": ") != line.npos;
    std::string first(before), rest(before);
    first.append(line.substr(0, indent)), rest.append(headed ? indent + 6 : indent + 2, ' ');
    line.remove_prefix(indent);
    fmt::print("{}\n", wrapped(line, width, first, indent == 0 ? std::string(before) : rest));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

void print_comment(std::string_view text) {
  print_lines("#   ", text);
}

// "tree.cu:49: partial[t] += partial[t + stride];", if the file can be read.
std::string quoted(const std::string& file, int line) {
  std::ifstream source(file);
  std::string text;
  for (int i = 0; i < line && std::getline(source, text); ++i) {
  }
  const auto begin = source ? text.find_first_not_of(" \t") : text.npos;
  return fmt::format("{}:{}:{}", as_typed(file), line, begin == text.npos ? "" : " " + text.substr(begin));
}

// What happened, and both lines.
std::string event_of(const Hazard& hazard) {
  std::string text = fmt::format("{}: {}", hazard.kind, hazard.message);
  if (hazard.line != 0) text += "\n  " + quoted(hazard.file, hazard.line);
  if (hazard.call_line != 0) text += "\n  called at " + quoted(hazard.file, hazard.call_line);
  const bool elsewhere = hazard.other_line != hazard.line || hazard.other_file != hazard.file;
  if (hazard.other_line != 0 && elsewhere) text += "\n  " + quoted(hazard.other_file, hazard.other_line);
  return text;
}

// Why it is wrong, what to try, where to read about it.
std::string explanation_of(const Hazard& hazard) {
  std::string text;
  if (!hazard.launch.empty()) text += "\n  in:   " + hazard.launch;
  if (!hazard.why.empty()) text += "\n  why:  " + hazard.why;
  if (!hazard.advice.empty()) text += "\n  try:  " + hazard.advice;
  return text + "\n  read: " + hazard.read;
}

// The first of each kind say most, since others often follow from them; and each explanation is printed once.
void print_hazards(std::span<const Hazard> hazards) {
  constexpr std::size_t most_of_a_kind = 3;
  std::map<std::string, std::size_t> of_kind;
  std::set<std::string> explained;
  for (const Hazard& hazard : hazards) {
    if (++of_kind[hazard.kind] > most_of_a_kind) continue;
    const std::string explanation = explanation_of(hazard);
    print_wrapped("    ", event_of(hazard) + (explained.insert(explanation).second ? explanation : ""));
  }
  for (const auto& [kind, count] : of_kind) {
    if (count > most_of_a_kind) fmt::print("    {}: and {} more\n", kind, count - most_of_a_kind);
  }
}

// The longest name of a state and one more column.
constexpr std::size_t longest_name() {
  std::size_t longest = 0;
  for (const StateRow& row : states) longest = std::max(longest, row.name.size());
  return longest;
}
constexpr int state_columns = static_cast<int>(longest_name()) + 1;

} // namespace

void print_first_line(const Result& result) {
  // The heading's escape codes take no columns, so the rest is wrapped as if the state stood there plainly.
  const std::string plain = fmt::format("{:<{}} ", name_of(result.state), state_columns);
  const std::string text =
      result.reason.empty() ? result.rung : fmt::format("{}: {}", result.rung, result.reason);
  const std::string first = text.substr(0, text.find('\n'));
  fmt::print("{}{}\n", painted(result.state, state_columns),
             wrapped(first, terminal_width(), plain, "    ").substr(plain.size() - 1));
  if (first.size() < text.size()) print_wrapped("  ", std::string_view(text).substr(first.size() + 1));
  std::fflush(stdout);
}

void print_text(const Result& result, const Options& options, bool first_line_is_out) {
  if (!first_line_is_out) print_first_line(result);
  if (const std::string place = place_of(result); !place.empty() && result.state != State::pass) {
    fmt::print("    at {}\n", place);
  }
  if (!result.diagnosis.text.empty()) print_wrapped("    ", result.diagnosis.text);
  print_hazards(result.hazards);
  if (result.profile && options.profile) print_profile(*result.profile);
  if (result.timing) print_timing(*result.timing);
  std::fflush(stdout);
}

void print_tap_skip(std::string_view reason) {
  fmt::print("1..0 # SKIP {}\n", tap_text(std::string(reason)));
}

// A rung that was handed out broken and still is: to do, like an empty one, but with what is wrong with it.
// On a GPU, nothing may be found wrong.
static bool is_untouched(const Result& result, bool todo_fails) {
  const bool ran = is_failure(result.state, todo_fails) || result.state == State::pass;
  return result.repair_line != 0 && ran && !todo_fails;
}

static std::string untouched_text(const Result& result) {
  const bool lucky = result.state == State::pass;
  return fmt::format("TODO {}:{}, broken as handed out: {}, {}", result.repair_file, result.repair_line,
                     name_of(result.state),
                     lucky ? "by luck on this device (--device emulator says why)" : result.reason);
}

void print_tap(const Result& result, bool todo_fails) {
  if (result.state == State::todo && !todo_fails) return print_tap_skip("TODO " + place_of(result));
  if (is_untouched(result, todo_fails)) return print_tap_skip(untouched_text(result));
  if (result.state == State::skip) return print_tap_skip(result.reason);
  if (result.state == State::todo) {
    fmt::print("1..1\nnot ok 1 - {}: TODO {}\n", result.rung, place_of(result));
    return;
  }
  std::size_t number = 0;
  for (const Check& check : result.checks) {
    fmt::print("{} {} - {}{}\n", check.ok ? "ok" : "not ok", ++number, tap_text(check.name),
               check.skipped ? " # SKIP " + tap_text(check.message) : "");
    if (!check.skipped && !check.message.empty()) print_comment(check.message);
    if (!check.diagnosis.text.empty()) print_comment(check.diagnosis.text);
  }
  for (const Hazard& hazard : result.hazards) {
    fmt::print("not ok {} - {}: {}:{}\n", ++number, hazard.kind, hazard.file, hazard.line);
    print_comment(event_of(hazard) + explanation_of(hazard));
  }
  if (result.state == State::pass || number == 0) {
    fmt::print("{} {} - {}\n", is_failure(result.state, todo_fails) ? "not ok" : "ok", number + 1,
               result.rung);
    ++number;
  }
  fmt::print("1..{}\n", number);
  if (result.state != State::pass)
    fmt::print("# {}: {} {}\n", result.rung, name_of(result.state), result.reason);
}

void print_tap(std::span<const Result> results, bool todo_fails) {
  fmt::print("1..{}\n", results.size());
  std::size_t number = 0;
  for (const Result& result : results) {
    if (is_untouched(result, todo_fails)) {
      fmt::print("ok {} - {} # SKIP {}\n", ++number, result.rung, tap_text(untouched_text(result)));
      continue;
    }
    fmt::print("{} {} - {}", is_failure(result.state, todo_fails) ? "not ok" : "ok", ++number, result.rung);
    if (result.state == State::todo && !todo_fails) fmt::print(" # SKIP TODO {}", place_of(result));
    if (result.state == State::skip) fmt::print(" # SKIP {}", tap_text(result.reason));
    fmt::print("\n");
    if (is_failure(result.state, todo_fails))
      print_comment(fmt::format("{}: {}", name_of(result.state), result.reason));
  }
}

} // namespace lab
