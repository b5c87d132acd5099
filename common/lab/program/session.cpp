#include "program/session.hpp"

#include "report/verdict.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/endings.hpp"
#include "run/host_place.hpp"
#include "run/in_this_process.hpp"
#include "run/many_gpus/last_words.hpp"
#include "run/many_gpus/ranks.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace lab {

namespace {

// A file that processes under mpirun remove when they have a verdict: mpirun's exit code is that of whichever
// process ended first.
class VerdictDue {
public:
  explicit VerdictDue(bool wanted) {
    if (!wanted) return;
    std::error_code unknown;
    path_ = (std::filesystem::temp_directory_path(unknown) / "warpfold-verdict-XXXXXX").string();
    const int file = mkstemp(path_.data());
    if (file < 0) {
      path_.clear();
      return;
    }
    close(file);
    setenv(variable, path_.c_str(), 1);
  }
  ~VerdictDue() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  VerdictDue(const VerdictDue&) = delete;
  VerdictDue& operator=(const VerdictDue&) = delete;

  bool was_given() const { return path_.empty() || access(path_.c_str(), F_OK) != 0; }
  // In the process that has it.
  static void is_given() {
    if (const char* path = std::getenv(variable); path && ranks() > 1) unlink(path);
  }

private:
  static constexpr const char* variable = "WARPFOLD_VERDICT_DUE";
  std::string path_;
};

} // namespace

// Of a process, by its exit code as a shell has it. mpirun hands on that of one of its own.
static std::string ending_text(int exit_code) {
  if (exit_code <= 128) return fmt::format("ended with exit code {}", exit_code);
  return fmt::format("ended because a process was ended by a signal ({})", strsignal(exit_code - 128));
}

void Session::watch() {
  // When grading, no code of the student's runs in this process, so a crash is not for the student to
  // explain.
  start_watchdog(
      time_limit_for(options_), [this](const Ending& ending) { end_early(ending); },
      [] { return is_watching_a_run() && has_lost_a_rank(); }, !options_.grading());
  // A rank's own words reach rank 0 in another way (join_ranks).
  if (!options_.grading() && !started_as_rank()) explain_exits();
}

Progress& Session::begin() {
  std::lock_guard lock(mutex_);
  return progress_.emplace([this](const Check& wrong) { print_headline(wrong); });
}

void Session::add(const Result& result) {
  std::lock_guard lock(mutex_);
  if (prints_text()) print_text(result, options_, headline_is_out_);
  headline_is_out_ = false;
  results_.push_back(result);
  progress_.reset();
}

// A wrong result, before its reason is looked for: the same line as print_text's first.
void Session::print_headline(const Check& wrong) {
  std::lock_guard lock(mutex_);
  if (!prints_text()) return;
  Findings findings;
  findings.checks = {wrong};
  print_first_line(verdict_on(rungs_[results_.size()], std::move(findings)));
  headline_is_out_ = true;
}

// A process that has lost its device, or whose main thread does not return, can run nothing more.
int Session::finish() {
  const std::vector<std::string> left(rungs_.begin() + static_cast<std::ptrdiff_t>(results_.size()),
                                      rungs_.end());
  ChildOutput rest;
  VerdictDue verdict(!under_.empty());
  // A grader asks for the remaining rungs itself, with a new process of the student's.
  if (!left.empty() && !options_.grading()) rest = run_again_for(argv_, left, !prints_text(), under_);
  if (!under_.empty() && !verdict.was_given()) {
    const Check silent{.name = "the processes run to their end",
                       .ok = false,
                       .message =
                           fmt::format("{} {} before rank 0 had a verdict; what it and the processes said, "
                                       "if anything, is above",
                                       under_[0], ending_text(rest.exit_code)),
                       .diagnosis = {}};
    rest.output.clear();
    for (const std::string& rung : left) {
      Findings findings;
      findings.checks = {silent};
      add(verdict_on(rung, std::move(findings)));
    }
  }
  report(rest.output);
  end_if_asked();
  return std::max(rest.exit_code, exit_code());
}

// Called on the watchdog's thread; the main thread gets no further than the lock.
void Session::end_early(const Ending& ending) {
  mutex_.lock();
  if (progress_ && results_.size() < rungs_.size()) {
    const Result result = result_so_far(ending);
    if (prints_text()) print_text(result, options_, headline_is_out_);
    results_.push_back(result);
  }
  if (ending.why == Ending::Why::asked) {
    report("");
    std::fflush(nullptr);
    end_by(ending.signal);
  }
  const int code = finish();
  std::fflush(nullptr);
  _exit(code);
}

// Of the rung that is being checked.
Result Session::result_so_far(const Ending& ending) const {
  Findings findings;
  findings.checks = progress_->so_far();
  const std::optional<Check> under_way = progress_->under_way();
  const bool by_itself = ending.why == Ending::Why::endless || ending.why == Ending::Why::crashed ||
                         ending.why == Ending::Why::exited;
  if (by_itself && ending.matters) {
    Check check = under_way.value_or(Check{.name = "the rung runs", .message = "", .diagnosis = {}});
    check.ok = false;
    check.message = ending.why == Ending::Why::crashed  ? crash_text(ending.signal)
                    : ending.why == Ending::Why::exited ? exit_text(ending.call)
                                                        : no_return_text();
    if (ending.why == Ending::Why::endless && ranks() > 1)
      if (const std::string others = answers_of_all(); !others.empty()) check.message += "; " + others;
    findings.checks.push_back(check);
  } else if (under_way && !under_way->ok) {
    findings.checks.push_back(*under_way); // already wrong; its reason was still being looked for
  }
  if ((ending.why == Ending::Why::asked || ending.why == Ending::Why::lost) && ranks() > 1) {
    Check check =
        under_way.value_or(Check{.name = "all ranks run to their end", .message = "", .diagnosis = {}});
    check.ok = false;
    check.message = words_of_the_lost();
    if (is_only_failure()) {
      ask_for_host_place();
      if (const std::string place = host_place(); !place.empty())
        check.message += "\n  rank 0 has not finished its run, and is at " + place;
      if (const std::string others = answers_of_all(); !others.empty()) check.message += "\n  " + others;
    }
    if (check.message.empty())
      check.message =
          fmt::format("ended by a signal ({}), which mpirun sends when another rank has ended: what that "
                      "one said is above",
                      strsignal(ending.signal));
    findings.checks.push_back(check);
  }
  if (on_emulator()) {
    findings.hazards = recorded_so_far().hazards;
    const bool right = std::ranges::all_of(findings.checks, [](const Check& check) { return check.ok; });
    leave_out_harmless(findings.hazards, right, false);
  }
  const std::size_t count = findings.checks.size();
  Result result = verdict_on(rungs_[results_.size()], std::move(findings));
  if (ending.why == Ending::Why::asked && result.state == State::pass) {
    result.state = State::skip;
    result.reason =
        fmt::format("ended by a signal ({}) after {} checks, all right", strsignal(ending.signal), count);
  }
  return result;
}

void Session::report(const std::string& rest) {
  VerdictDue::is_given();
  aside_.end();
  print_results(rest);
}

// `rest`: the JSON of the rungs that another process ran, or "".
void Session::print_results(const std::string& rest) const {
  if (options_.json) {
    // Kernels print to stdout; a grader's answer goes where no student's output can.
    std::FILE* const out = options_.answer ? fdopen(*options_.answer, "w") : stdout;
    if (!out) throw std::runtime_error("--answer: that is no open descriptor");
    print_json(out, heading_, results_, rest.empty() ? std::span<const std::string>() : std::span(&rest, 1));
    std::fflush(out);
    return;
  }
  if (!options_.tap) return;
  std::vector<Result> results = results_;
  if (!rest.empty()) {
    for (Result& result : results_from_json(rest)) results.push_back(std::move(result));
  }
  if (rungs_.size() != 1 || results.size() != 1)
    return print_tap(std::span<const Result>(results), options_.solutions);
  print_tap(results[0], options_.solutions);
  if (!is_failure(results[0].state, options_.solutions)) return;
  const StdoutAside to_stderr(true); // Meson shows a failed test's stderr unchanged
  print_text(results[0], options_);
}

int Session::exit_code() const {
  if (options_.tap) return 0; // the points say it; to Meson, anything else is a broken test
  bool all_ran = true;
  for (const Result& result : results_) {
    // A rung that is still as handed out is still to do, whatever its verdict says.
    const bool untouched = result.repair_line != 0 && !options_.json && !options_.solutions;
    if (is_failure(result.state, options_.solutions) && !untouched) return exit_failed;
    all_ran = all_ran && result.state == State::pass && !untouched;
  }
  // A lab that still has a TODO has not failed, and has not passed either.
  return all_ran || options_.json || options_.profile || options_.time ? 0 : exit_skipped;
}

} // namespace lab
