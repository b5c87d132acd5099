// The order of things in a lab program: command line, regions, device, rungs, report.
#include "checking/check.hpp"
#include "command_line.hpp"
#include "diagnosis/diagnosis.hpp"
#include "processes.hpp"
#include "reporting/report.hpp"
#include "source/source_file.hpp"
#include "checking/technique.hpp"
#include "timing/timing.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>

namespace lab {
namespace {

constexpr int exit_failed = 1, exit_usage = 2,
              exit_skipped = 77; // 77: what Meson and Automake take for "skipped"
constexpr std::size_t profile_n = std::size_t{1} << 20, timing_n = std::size_t{1} << 26;
// Enough that starting a kernel is a small part of the time.
constexpr std::size_t bandwidth_n = std::size_t{1} << 28;
// Warp instructions of a block after which it is taken for endless: about a second, and far more than any
// rung of a block that walks over a million elements alone.
constexpr std::size_t fewest_step_limit = std::size_t{1} << 26;

class Program {
public:
  Program(Options options, Heading heading, std::span<const Rung> rungs, std::vector<Region> regions,
          char** argv)
      : options_(std::move(options)), heading_(std::move(heading)), rungs_(rungs),
        regions_(std::move(regions)), argv_(argv) {
    for (const Rung& rung : rungs_) {
      const bool asked = options_.rungs.empty() || std::find(options_.rungs.begin(), options_.rungs.end(),
                                                             rung.name) != options_.rungs.end();
      if (asked) chosen_.push_back(&rung);
      if (!todo_of(rung)) filled_.push_back(&rung);
    }
  }

  int run() {
    if (options_.list) {
      print_list(heading_, rungs_, regions_, options_.json);
      return 0;
    }
    const bool any_filled =
        std::any_of(chosen_.begin(), chosen_.end(), [this](const Rung* rung) { return !todo_of(*rung); });
    if (any_filled) {
      open_device(device_wanted(), argv_);
      if (on_emulator() && options_.time) {
        fmt::print(stderr, "Times are taken on a GPU only: the emulator's say nothing about one. The rungs are "
                           "checked.\n");
        options_.n.reset(), options_.rows.reset(); // of the timing; a check of so many elements would take long
      }
      if (on_emulator()) {
        check_all_hazards();
        limit_steps(std::max(fewest_step_limit, 32 * options_.n.value_or(0)));
      }
      refuse_what_does_not_fit();
    }
    for (std::size_t i = 0; i < chosen_.size() && !device_lost_; ++i) {
      results_.push_back(result_of(*chosen_[i]));
      if (!options_.json && !options_.tap) print_text(results_.back(), options_);
    }
    const int rest = results_.size() < chosen_.size() ? run_rest_elsewhere() : 0;
    report();
    return std::max(rest, exit_code());
  }

private:
  // Only the emulator counts.
  Choice device_wanted() const {
    if (!options_.profile || options_.device == Choice::emulator) return options_.device;
    if (options_.device == Choice::automatic) return Choice::emulator;
    throw UsageError("--profile counts what the rungs do, which the emulator can: leave out --device=gpu");
  }

  const Region* todo_of(const Rung& rung) const { return next_todo(regions_, rungs_, rung); }

  void refuse_what_does_not_fit() const {
    if (!options_.n) return;
    for (const Rung* rung : chosen_) {
      const std::size_t width = size_of(rung->variants[0].type);
      if (*options_.n / 2 < device().memory / width / 2) continue;
      throw UsageError(fmt::format("--n {}: {} elements of {} bytes do not fit into the {} bytes of {}",
                                   *options_.n, *options_.n, width, device().memory, device().name));
    }
  }

  Result result_of(const Rung& rung) {
    Result result;
    result.rung = rung.name;
    if (const Region* todo = todo_of(rung)) {
      result.state = State::todo, result.reason = todo->todo;
      result.file = heading_.source, result.line = todo->todo_line;
      return result;
    }
    if (const std::string reason = why_not_for(rung); !reason.empty()) {
      result.state = State::skip, result.reason = reason;
      return result;
    }
    try {
      run_rung(rung, result);
    } catch (const CudaError& error) {
      result.checks.push_back(
          {.name = "the rung runs", .ok = false, .message = error.what(), .diagnosis = {}});
      device_lost_ = true; // whatever is left of the device, the next rung starts in a process of its own
    }
    decide(result);
    if (const Region* repair = rung.to_repair ? next_repair(regions_, rung) : nullptr)
      result.repair_file = heading_.source, result.repair_line = repair->todo_line;
    return result;
  }

  // With all rungs at once, a size or block that one of them does not take leaves that one out.
  std::string why_not_for(const Rung& rung) const {
    const unsigned block = block_for(rung, options_);
    if (block < rung.min_block || block > rung.max_block) {
      return fmt::format("takes {} to {} threads a block", rung.min_block, rung.max_block);
    }
    if (!options_.n || !rung.max_n) return "";
    const double most = rung.max_n(Size{*options_.n, block});
    return static_cast<double>(*options_.n) <= most ? "" : fmt::format("takes up to {:.0f} elements", most);
  }

  void run_rung(const Rung& rung, Result& result) {
    const unsigned block = block_for(rung, options_);
    Checked checked;
    if (on_emulator()) {
      Recorded recorded = record([&] { checked = check_rung(rung, options_); });
      result.hazards = std::move(recorded.hazards);
    } else {
      checked = check_rung(rung, options_);
    }
    result.checks = std::move(checked.checks);
    device_lost_ = checked.device_lost;
    const bool right =
        std::all_of(result.checks.begin(), result.checks.end(), [](const Check& c) { return c.ok; });
    if (device_lost_ || !right) return;
    if (on_emulator()) {
      technique_ = check_technique(rung, filled_, options_);
      if (options_.profile || options_.json) {
        result.profile =
            profile_rung(rung, rung.variants[0], options_.n.value_or(profile_n), block, options_.seed,
                         options_.rows)
                .profile;
      }
    } else {
      time_rung(rung, result);
    }
  }

  void time_rung(const Rung& rung, Result& result) {
    if (options_.time) {
      Timing timing = timed(rung, timing_n);
      timing.cpu_loop = cpu_loop(rung.variants[0].type, rung.op, timing.n);
      timing.speed_up_over_cpu = timing.cpu_loop / timing.median;
      if (&rung != rungs_.data()) {
        const Rung& before = *(&rung - 1);
        if (!todo_of(before) && takes(before, timing.n)) {
          timing.speed_up_over_rung_before = timed(before, timing.n).median / timing.median;
        }
      }
      result.timing = timing;
    }
    if (rung.least_bandwidth <= 0 || options_.n) return;
    const Timing timing = timed(rung, bandwidth_n);
    const double part = timing.bytes_per_second / timing.measured_bandwidth;
    if (part >= rung.least_bandwidth) return;
    slow_ = fmt::format(
        "{:.0f} % of the read bandwidth measured in this run, {:.0f} % expected: {:.1f} us for {} "
        "elements, {:.1f} us expected",
        100 * part, 100 * rung.least_bandwidth, timing.median, timing.n,
        timing.median * part / rung.least_bandwidth);
  }

  bool takes(const Rung& rung, std::size_t n) const {
    return !rung.max_n || static_cast<double>(n) <= rung.max_n(Size{n, block_for(rung, options_)});
  }

  // Kept, so that the next rung finds the time of the one before.
  Timing timed(const Rung& rung, std::size_t usual_n) {
    const unsigned block = block_for(rung, options_);
    std::size_t n = options_.n.value_or(usual_n);
    if (rung.max_n) n = std::min(n, static_cast<std::size_t>(rung.max_n(Size{n, block})));
    if (timed_rung_ == &rung && last_timing_.n == n) return last_timing_;
    const Timing timing = time_variant(rung, rung.variants[0], n, block, options_.seed, options_.rows);
    timed_rung_ = &rung, last_timing_ = timing;
    return timing;
  }

  void decide(Result& result) {
    const auto failed =
        std::find_if(result.checks.begin(), result.checks.end(), [](const Check& c) { return !c.ok; });
    const auto off = std::find_if(technique_.begin(), technique_.end(), [](const Check& c) { return !c.ok; });
    if (failed != result.checks.end()) {
      result.state = State::wrong;
      result.diagnosis = diagnosis_beside(result.checks, *failed);
      result.reason = fmt::format("{}: {}", failed->name, failed->message);
    } else if (!result.hazards.empty()) {
      result.state = State::hazard;
      result.reason = "right, but by luck: " + result.hazards[0].message;
    } else if (off != technique_.end()) {
      result.state = State::off_technique;
      result.reason = off->message;
    } else if (!slow_.empty()) {
      result.state = State::slow;
      result.reason = slow_;
    }
    if (!result.hazards.empty()) result.file = result.hazards[0].file, result.line = result.hazards[0].line;
    for (Check& check : technique_) result.checks.push_back(std::move(check));
    if (!slow_.empty())
      result.checks.push_back({.name = "speed", .ok = false, .message = slow_, .diagnosis = {}});
    technique_.clear(), slow_.clear();
  }

  // After an error that leaves the device unusable for this process, the other rungs run in one of their own.
  int run_rest_elsewhere() {
    std::vector<std::string> names;
    for (std::size_t i = results_.size(); i < chosen_.size(); ++i) names.push_back(chosen_[i]->name);
    const bool by_json = options_.json || options_.tap;
    const ChildOutput child = run_again_for(argv_, names, by_json);
    if (by_json) rest_.push_back(child.output);
    return child.exit_code;
  }

  void report() {
    if (options_.json) {
      print_json(heading_, results_, rest_);
    } else if (options_.tap && chosen_.size() == 1) {
      print_tap(results_[0], options_.solutions);
    } else if (options_.tap) {
      for (const std::string& text : rest_) {
        for (Result& result : results_from_json(text)) results_.push_back(std::move(result));
      }
      print_tap(std::span<const Result>(results_), options_.solutions);
    }
  }

  int exit_code() const {
    if (options_.tap) return 0; // the points say it; Meson takes anything else for a broken test program
    bool all_ran = true;
    for (const Result& result : results_) {
      // What nobody has touched yet is still to do, though it is told apart from what is right.
      const bool untouched = result.repair_line != 0 && !options_.json && !options_.solutions;
      if (is_failure(result.state, options_.solutions) && !untouched) return exit_failed;
      all_ran = all_ran && result.state == State::pass && !untouched;
    }
    // A lab that still has a TODO has not failed, and has not passed either.
    return all_ran || options_.json || options_.profile || options_.time ? 0 : exit_skipped;
  }

  Options options_;
  Heading heading_;
  std::span<const Rung> rungs_;
  std::vector<Region> regions_;
  char** argv_;
  std::vector<const Rung*> chosen_, filled_;
  std::vector<Result> results_;
  std::vector<std::string> rest_;
  std::vector<Check> technique_;
  std::string slow_;
  const Rung* timed_rung_ = nullptr;
  Timing last_timing_;
  bool device_lost_ = false;
};

void check_rungs(std::span<const Rung> rungs) {
  for (const Rung& rung : rungs) {
    if (rung.variant_count < 1 || rung.variant_count > Rung::max_variants ||
        rung.promise_count > Rung::max_promises) {
      throw UsageError(fmt::format("rung {}: 1 to {} host functions (.on) and up to {} promises, please",
                                   rung.name, Rung::max_variants, Rung::max_promises));
    }
  }
}

} // namespace

int main(int argc, char** argv, std::initializer_list<Rung> list, const char* source) {
  const std::span<const Rung> rungs(list.begin(), list.size());
  const std::string path = find_source(source);
  const std::string lab = std::filesystem::path(path).parent_path().filename().string();
  bool tap = false;
  try {
    check_rungs(rungs);
    const std::optional<Options> options = parse_command_line(argc, argv, lab, rungs);
    if (!options) return 0;
    tap = options->tap;
    return Program(*options, {lab, path}, rungs, read_regions(path), argv).run();
  } catch (const NoDevice& missing) {
    if (tap) return print_tap_skip(missing.what()), 0;
    fmt::print(stderr, "{}\n", missing.what());
    return exit_skipped;
  } catch (const UsageError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_failed;
  }
}

} // namespace lab
