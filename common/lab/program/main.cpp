// The order of things in a lab program: command line, regions, device, rungs, report.
#include "program/main.hpp"
#include "input/source_file.hpp"
#include "judge/beyond_32_bits.hpp"
#include "judge/small_device.hpp"
#include "judge/technique.hpp"
#include "program/check_rung.hpp"
#include "program/command_line.hpp"
#include "program/once.hpp"
#include "program/session.hpp"
#include "promises/course.hpp"
#include "report/report.hpp"
#include "report/verdict.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/endings.hpp"
#include "run/host_place.hpp"
#include "run/many_gpus/last_words.hpp"
#include "run/many_gpus/ranks.hpp"
#include "run/memory.hpp"
#include "run/processes.hpp"
#include "run/runner.hpp"
#include "run/sandboxed/device_process.hpp"
#include "run/sandboxed/host_process.hpp"
#include "run/timing/timing.hpp"
#include "run/watchdog.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

namespace lab {
namespace {

constexpr std::size_t profile_n = std::size_t{1} << 20, timing_n = std::size_t{1} << 26;
// So many elements that starting a kernel is a small part of the time.
constexpr std::size_t bandwidth_n = std::size_t{1} << 28;
// Warp instructions after which a block counts as endless: about a second, and far more than any rung needs
// in which one block walks over a million elements alone.
constexpr std::size_t fewest_step_limit = std::size_t{1} << 26;

// Times of rungs, each measured once: a rung's time is also what the next rung is compared with.
class Timings {
public:
  explicit Timings(const Options& options) : options_(options) {}

  // For the number of elements that was asked for, the usual one, or as many as the rung takes.
  const Timing& of(const Rung& rung, std::size_t usual_n) {
    const unsigned block = block_for(rung, options_);
    const std::size_t n = std::min(options_.n.value_or(usual_n), rung.most_elements(block));
    const auto [place, is_new] = times_.try_emplace({&rung, n});
    if (is_new) {
      place->second = time_variant(rung, rung.variants[0], n, block, options_.seed, options_.rows);
    }
    return place->second;
  }

private:
  const Options& options_;
  std::map<std::pair<const Rung*, std::size_t>, Timing> times_;
};

class Program {
public:
  Program(Options options, Heading heading, std::span<const Rung> rungs, std::vector<Region> regions,
          char** argv)
      : options_(std::move(options)), heading_(std::move(heading)), rungs_(rungs),
        regions_(std::move(regions)), argv_(argv) {
    for (const Rung& rung : rungs_) {
      if (options_.asks_for(rung.name)) chosen_.push_back(&rung);
    }
  }

  int run() const {
    if (options_.list) {
      print_list(heading_, rungs_, regions_, options_.json);
      return 0;
    }
    const bool any_filled =
        std::any_of(chosen_.begin(), chosen_.end(), [this](const Rung* rung) { return !todo_of(*rung); });
    const Options how = any_filled ? options_on_device() : options_;
    const Rung* const shared = rung_of_processes();
    if (started_as_rank() && any_filled) {
      if (!shared)
        throw UsageError("none of these rungs runs in several processes: start this program without mpirun");
      join_ranks(shared->variants[0].processes, time_limit_for(how));
    }
    if (rank() > 0) return serve_rank_0(*shared), 0;
    // What a kernel prints must not appear among the lines that another program reads.
    StdoutAside aside(how.json || how.tap || how.once);
    if (how.once) return run_once_each(how, aside);
    Timings timings(how);
    std::vector<std::string> names;
    for (const Rung* rung : chosen_) names.push_back(rung->name);
    Session session(options_, heading_, names, argv_, aside);
    if (any_filled) session.watch();
    for (const Rung* rung : chosen_) {
      if (starts_processes(*rung, how)) {
        allow_launcher();
        session.continue_under(*launcher(device().count));
        break; // it is the lab's last
      }
      const auto [result, device_lost] = result_of(*rung, how, timings, session);
      session.add(result);
      if (device_lost) break;
    }
    const int exit_code = session.finish();
    dismiss_ranks();
    return exit_code;
  }

private:
  // Rank 0 says what a run that does not end is, so this waits longer.
  void serve_rank_0(const Rung& shared) const {
    const auto end = [](const Ending& ending) {
      const std::string words = ending.why == Ending::Why::crashed   ? crash_text(ending.signal)
                                : ending.why == Ending::Why::endless ? no_return_text()
                                                                     : "";
      if (!words.empty()) {
        fmt::print(stderr, "rank {}: {}\n", rank(), words);
        leave_last_words(words);
      }
      std::fflush(nullptr);
      _exit(exit_failed);
    };
    const auto answer_rank_0 = [] {
      if (!is_asked_for_words()) return false;
      std::string words;
      if (is_watching_a_run()) {
        ask_for_host_place();
        const std::string place = host_place();
        if (!place.empty()) words = "has not finished its run, and is at " + place;
      }
      answer_with_words(words);
      return false;
    };
    start_watchdog(2 * time_limit_for(options_), end, answer_rank_0);
    serve(shared.variants[0]);
  }
  // The rung that runs in several processes, when this is not yet one of them.
  bool starts_processes(const Rung& rung, const Options& how) const {
    return rung.variants[0].processes.begin && !started_as_rank() && !todo_of(rung) &&
           why_not_for(rung, how).empty();
  }
  const Rung* rung_of_processes() const {
    for (const Rung* rung : chosen_)
      if (rung->variants[0].processes.begin && !todo_of(*rung)) return rung;
    return nullptr;
  }

  int run_once_each(const Options& how, StdoutAside& aside) const {
    for (const Rung* rung : chosen_)
      if (rung->variants[0].processes.begin && !started_as_rank())
        throw UsageError(
            fmt::format("--once: rung {} runs in several processes, and this looks at one", rung->name));
    std::string text;
    for (const Rung* rung : chosen_)
      if (!todo_of(*rung)) text += look_once(*rung, how) + "\n";
    aside.end();
    fmt::print("{}", text);
    return 0;
  }

  // Opens the device, and sets how the rungs run on it.
  Options options_on_device() const {
    Options how = options_;
    use_device(runner().open(device_wanted(), argv_, options_.devices));
    if (how.time && (on_emulator() || !device().runs_cuda)) {
      fmt::print(stderr, "{} The rungs are checked instead.\n",
                 on_emulator() ? "Times are taken only on a GPU: the emulator's times say nothing about one."
                               : "Only kernels in CUDA are timed.");
      how.time = false;
      how.n.reset(), how.rows.reset(); // meant for timing; a check of so many would take long
    }
    if (on_emulator()) {
      check_all_hazards();
      limit_printing();
      limit_steps(std::max(fewest_step_limit, 32 * how.n.value_or(0)));
      limit_launches(time_limit_for(how));
      limit_nccl(time_limit_for(how));
    }
    refuse_what_does_not_fit(how);
    return how;
  }

  // Only the emulator counts.
  Choice device_wanted() const {
    if (!(options_.profile || options_.once) || options_.device == Choice::emulator) return options_.device;
    if (options_.device == Choice::automatic) return Choice::emulator;
    throw UsageError("--profile and --once need the emulator: leave out --device=gpu");
  }

  const Region* todo_of(const Rung& rung) const { return next_todo(regions_, rungs_, rung); }

  void refuse_what_does_not_fit(const Options& how) const {
    if (!how.n) return;
    for (const Rung* rung : chosen_) {
      const std::size_t width = size_of(rung->variants[0].type);
      if (*how.n / 2 < device().memory / width / 2) continue;
      throw UsageError(fmt::format("--n {}: {} elements of {} bytes do not fit in the {} bytes of {}", *how.n,
                                   *how.n, width, device().memory, device().name));
    }
  }

  struct Ran {
    Result result;
    bool device_lost = false;
  };

  Ran result_of(const Rung& rung, const Options& how, Timings& timings, Session& session) const {
    Result result;
    result.rung = rung.name;
    if (const Region* todo = todo_of(rung)) {
      result.state = State::todo, result.reason = todo->todo;
      result.file = heading_.source, result.line = todo->todo_line;
      return {result};
    }
    if (const std::string reason = why_not_for(rung, how); !reason.empty()) {
      result.state = State::skip, result.reason = reason;
      return {result};
    }
    if (const std::string log = runner().build_log(); !log.empty()) {
      result.state = State::not_built, result.reason = "the kernels do not compile";
      result.file = heading_.source;
      result.checks.push_back({.name = "the kernels compile", .ok = false, .message = log, .diagnosis = {}});
      return {result};
    }
    Findings findings = findings_on(rung, how, timings, session);
    const bool device_lost = findings.device_lost;
    const std::string wrongness =
        rung.cannot_be_right && !findings.checks.empty() ? findings.checks.back().message : "";
    result = verdict_on(rung.name, std::move(findings));
    if (result.state == State::pass) result.reason = wrongness;
    if (result.state == State::wrong && !on_emulator() && !how.grading() && !started_as_rank())
      explain_on_emulator(result);
    if (const Region* repair = rung.to_repair ? next_repair(regions_, rung) : nullptr)
      result.repair_file = heading_.source, result.repair_line = repair->todo_line;
    return {result, device_lost};
  }

  // A GPU gives the result alone; the emulator sees every value and every access. What it says of the same
  // rung goes before what the numbers say.
  void explain_on_emulator(Result& result) const {
    std::vector<Result> there;
    try {
      there = results_from_json(json_on_emulator(argv_, result.rung));
    } catch (const std::exception&) {
      return; // it gave no verdict
    }
    if (there.size() != 1) return;
    Result& seen = there[0];
    if (!seen.hazards.empty()) {
      result.diagnosis = {}; // they explain the number
    } else if (seen.state == State::wrong && !seen.diagnosis.text.empty()) {
      result.diagnosis = seen.diagnosis;
      result.diagnosis.text = fmt::format("On the emulator, {}. {}", seen.reason, seen.diagnosis.text);
    } else if (seen.state == State::pass || seen.state == State::off_technique) {
      result.diagnosis.text += fmt::format("{}On the emulator, each of its results is right.",
                                           result.diagnosis.text.empty() ? "" : " ");
    }
    result.hazards = std::move(seen.hazards);
    if (result.line == 0) result.file = seen.file, result.line = seen.line;
  }

  // With all rungs at once, a rung that does not take the size or block is left out.
  static std::string why_not_for(const Rung& rung, const Options& how) {
    const Variant& variant = rung.variants[0];
    if (variant.why_absent) return variant.why_absent;
    if (const int there = device().compute_capability; there < rung.least_capability)
      return fmt::format("takes a device of compute capability {}.{} or more, and {} has {}.{}{}",
                         rung.least_capability / 10, rung.least_capability % 10, device().name, there / 10,
                         there % 10, on_emulator() ? "" : ": --device=emulator runs it without one");
    const unsigned devices = started_as_rank() ? devices_for(variant) : device().count;
    const bool runs_on_one = how.devices == 1 && !variant.processes.begin; // if it is asked for
    if (variant.over_devices && devices < 2 && !runs_on_one) {
      return fmt::format("takes two devices or more, and there is one, {}{}", device().name,
                         on_emulator() ? "" : ": --device=emulator runs it on emulated ones");
    }
    if (variant.processes.begin && !started_as_rank() && !launcher(1))
      return "there is no mpirun to start several processes with (Debian: openmpi-bin)";
    if (started_as_rank() && !variant.processes.begin)
      return "runs in one process: start this program without mpirun";
    const unsigned block = block_for(rung, how);
    if (block > device().largest_block)
      return fmt::format("{} takes up to {} threads per block", device().name, device().largest_block);
    if (block < rung.min_block || block > rung.max_block) {
      return fmt::format("takes {} threads per block", rung.block_sizes_in_words());
    }
    if (how.n && variant.by_rows)
      if (const std::size_t rows = rows_for(variant, *how.n, how.rows);
          rows > 0 && *how.n / rows > rung.max_columns)
        return fmt::format("takes rows of up to {} elements", rung.max_columns);
    const std::size_t most = rung.most_elements(block);
    return !how.n || *how.n <= most ? "" : fmt::format("takes up to {} elements", most);
  }

  Findings findings_on(const Rung& rung, const Options& how, Timings& timings, Session& session) const {
    Findings findings;
    Progress& progress = session.begin();
    // What was found before counts: the first wrong check is what is reported.
    const auto ends_with = [&](const char* name, const std::exception& error) {
      if (findings.checks.empty()) findings.checks = progress.so_far();
      if (on_emulator() && findings.hazards.empty()) {
        findings.hazards = recorded_so_far().hazards;
        leave_out_harmless(findings.hazards, false, false);
      }
      findings.checks.push_back({.name = name, .ok = false, .message = error.what(), .diagnosis = {}});
      findings.device_lost = true; // the next rung starts in a new process, whatever is left of this one
    };
    try {
      run_rung(rung, how, timings, progress, findings);
    } catch (const DeviceError& error) {
      ends_with("the rung runs", error);
    } catch (const HostLost& error) {
      ends_with("the host function runs", error);
    }
    return findings;
  }

  void run_rung(const Rung& rung, const Options& how, Timings& timings, Progress& progress,
                Findings& findings) const {
    Checked checked =
        rung.cannot_be_right ? check_wrong_on_purpose(rung, how, progress) : check_rung(rung, how, progress);
    findings.checks = std::move(checked.checks), findings.hazards = std::move(checked.hazards);
    findings.device_lost = checked.device_lost;
    if (findings.device_lost) return;
    if (first_failed(findings.checks)) return explain_by_counts(rung, how, findings.checks);
    if (on_emulator()) {
      Technique technique = check_technique(rung, how);
      findings.technique = std::move(technique.promises);
      if (technique.wrong_result) return findings.checks.push_back(std::move(*technique.wrong_result));
      if (rung.cannot_be_right && findings.checks.back().skipped) {
        Check race = findings.checks.back();
        race.name = "technique: a race", race.skipped = race.ok = false;
        findings.technique.push_back(std::move(race));
      }
      const std::vector<Check> others = check_other_operators(rung, how);
      findings.technique.insert(findings.technique.end(), others.begin(), others.end());
      if (!add_further(check_on_small_device(rung, how), findings)) return;
      if (findings.hazards.empty() && !first_failed(findings.technique) &&
          !add_further(check_beyond_32_bits(rung, how), findings))
        return;
      if (how.profile || (how.json && !how.grading())) {
        findings.profile = profile_rung(rung, rung.variants[0], how.n.value_or(profile_n),
                                        block_for(rung, how), how.seed, how.rows)
                               .profile;
      }
    } else if (how.grading()) {
      if (how.time && !rung.most_read_back) advise_on_time(rung, timings, findings);
    } else {
      if (how.time) findings.timing = timing_of(rung, how, timings);
      if (rung.least_bandwidth > 0 && !how.n) findings.slow = how_slow(rung, timings);
    }
  }

  // Whether it is right, or was not made.
  static bool add_further(std::optional<FurtherCheck> further, Findings& findings) {
    if (!further) return true;
    findings.device_lost = further->device_lost;
    findings.checks.push_back(std::move(further->check));
    return findings.checks.back().ok;
  }

  // Where exact sums are right, a sum that is off by more than its bound may be added up in another way than
  // the rung's, which its counts show.
  static void explain_by_counts(const Rung& rung, const Options& how, std::vector<Check>& checks) {
    const bool only_rounded = std::ranges::none_of(checks, [](const Check& check) {
      return !check.ok && (check.exact || check.n == 0 || !check.diagnosis.kind.empty());
    });
    if (!on_emulator() || !only_rounded || rung.row_function != RowFunction::none) return;
    const Technique technique = check_technique(rung, how);
    const Check* const broken = first_failed(technique.promises);
    if (technique.wrong_result || !broken) return;
    std::ranges::find(checks, false, &Check::ok)->diagnosis = {
        "another-technique",
        fmt::format(
            "Where no addition rounds, the result is right. But the rung is about another way to add up, "
            "for which its bound on the error holds: {}",
            broken->message),
        true};
  }

  // In a class, a time decides nothing; neither does a failure to take it.
  static void advise_on_time(const Rung& rung, Timings& timings, Findings& findings) {
    try {
      const Replaying without_the_host;
      findings.timing = timings.of(rung, timing_n);
    } catch (const DeviceError&) {
      findings.device_lost = true;
    } catch (const HostLost&) {
      findings.device_lost = true;
    }
  }

  Timing timing_of(const Rung& rung, const Options& how, Timings& timings) const {
    Timing timing = timings.of(rung, timing_n);
    if (rung.row_function == RowFunction::none)
      timing.cpu_loop = cpu_loop(rung.variants[0].type, rung.op, timing.n);
    timing.speed_up_over_cpu = timing.cpu_loop / timing.median;
    // The rung before one of several processes runs in one of them.
    if (&rung == rungs_.data() || rung.variants[0].processes.begin) return timing;
    const Rung& before = *(&rung - 1);
    if (!todo_of(before) && !before.variants[0].why_absent &&
        timing.n <= before.most_elements(block_for(before, how))) {
      timing.speed_up_over_rung_before = timings.of(before, timing.n).median / timing.median;
    }
    return timing;
  }

  // "" if the rung reaches the bandwidth that it promises.
  static std::string how_slow(const Rung& rung, Timings& timings) {
    const Timing& timing = timings.of(rung, bandwidth_n);
    const double share = timing.bytes_per_second / timing.measured_bandwidth;
    if (share >= rung.least_bandwidth) return "";
    return fmt::format(
        "{:.0f} % of the read bandwidth measured in this run, {:.0f} % expected: {:.1f} us for {} "
        "elements, {:.1f} us expected",
        100 * share, 100 * rung.least_bandwidth, timing.median, timing.n,
        timing.median * share / rung.least_bandwidth);
  }

  const Options options_;
  const Heading heading_;
  const std::span<const Rung> rungs_;
  const std::vector<Region> regions_;
  char** const argv_;
  std::vector<const Rung*> chosen_;
};

void check_rungs(std::span<const Rung> rungs) {
  for (const Rung& rung : rungs) {
    if (rung.variant_count < 1 || rung.variant_count > Rung::max_variants ||
        rung.promise_count > Rung::max_promises) {
      throw UsageError(fmt::format("rung {}: 1 to {} host functions and up to {} promises, please", rung.name,
                                   Rung::max_variants, Rung::max_promises));
    }
  }
}

// The rungs, complete, or an exception that says why there are none.
template <class MakeRungs>
int run_lab(int argc, char** argv, const std::string& source, const MakeRungs& make_rungs) {
  const std::string path = find_source(source);
  const std::string lab = lab_of(path);
  bool tap = false;
  try {
    std::vector<Rung> rungs = make_rungs(lab);
    check_rungs(rungs);
    const std::optional<Options> options = parse_command_line(argc, argv, lab, rungs);
    if (!options) return 0;
    tap = options->tap;
    const std::string student = options->source.empty() ? path : find_source(options->source);
    runner().use_kernels(student);
    if (options->compile_only) {
      runner().open(options->device, argv, options->devices);
      return runner().build_log().empty() ? 0 : exit_failed;
    }
    if (options->grading()) {
      open_device(options->device, argv); // which may execute this program again
      on_emulator() ? split_off_device(rungs, *options, argv) : use_host_process(rungs, *options);
    }
    return Program(*options, {lab, student}, rungs, read_regions(student), argv).run();
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

} // namespace

int run_lab(int argc, char** argv, const std::string& source, std::span<const Implementation> rungs) {
  return run_lab(argc, argv, source, [&](const std::string& lab) { return with_promises(lab, rungs); });
}

int main(int argc, char** argv, std::initializer_list<Implementation> rungs, const char* source) {
  return run_lab(argc, argv, source, std::span(rungs.begin(), rungs.size()));
}

int main(int argc, char** argv, std::initializer_list<Rung> rungs, const char* source) {
  return run_lab(argc, argv, source, [&](const std::string&) { return std::vector<Rung>(rungs); });
}

} // namespace lab
