// What a lab program has found about its rungs so far, and how it ends: after the last rung, after a rung
// that no other rung can follow in the same process, or at a signal.
#pragma once

#include "judge/progress.hpp"
#include "report/report.hpp"
#include "run/processes.hpp"
#include "run/watchdog.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace lab {

constexpr int exit_failed = 1, exit_usage = 2,
              exit_skipped = 77; // 77: what Meson and Automake treat as "skipped"

class Session {
public:
  // `aside` is ended before any output for other programs is printed.
  Session(const Options& options, const Heading& heading, std::vector<std::string> rungs, char** argv,
          StdoutAside& aside)
      : options_(options), heading_(heading), rungs_(std::move(rungs)), argv_(argv), aside_(aside) {}

  // From now on, a run that does not end, a crash or a signal ends the program, which reports what is known
  // by then.
  void watch();

  // The rungs from here on run under this command, in processes of their own.
  void continue_under(std::vector<std::string> command) { under_ = std::move(command); }

  // The check of the next rung begins.
  Progress& begin();
  // The check has ended; if the output is text, the result is printed now.
  void add(const Result& result);
  // Runs the remaining rungs, if any, in a new process, prints what has not been printed yet, and returns the
  // program's exit code.
  int finish();

private:
  bool prints_text() const { return !options_.json && !options_.tap; }
  void print_headline(const Check& wrong);
  [[noreturn]] void end_early(const Ending& ending);
  Result result_so_far(const Ending& ending) const;
  void report(const std::string& rest);
  void print_results(const std::string& rest) const;
  int exit_code() const;

  const Options& options_;
  const Heading& heading_;
  const std::vector<std::string> rungs_;
  char** const argv_;
  StdoutAside& aside_;

  std::mutex mutex_; // of what follows, and of what is printed
  std::vector<Result> results_;
  std::optional<Progress> progress_; // of the rung that is being checked
  bool headline_is_out_ = false;
  std::vector<std::string> under_;
};

} // namespace lab
