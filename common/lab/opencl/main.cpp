// The order of things in lab 10's program: command line, regions, device, kernels, rungs, report. The inputs
// and the words are those of the other labs.
#include "input/source_file.hpp"
#include "opencl/barriers.hpp"
#include "opencl/check.hpp"
#include "opencl/context.hpp"
#include "opencl/guard.hpp"
#include "opencl/rung.hpp"
#include "opencl/technique.hpp"
#include "opencl/verdict.hpp"
#include "program/command_line.hpp"
#include "program/session.hpp"
#include "promises/course.hpp"
#include "report/report.hpp"
#include "report/verdict.hpp"
#include "run/endings.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <sstream>

namespace lab::opencl {
namespace {

// The compiler's messages, each with the line of the kernels that it is about, as compilers on a terminal
// show it; some drivers do so themselves.
std::string with_lines_of(const std::string& kernels, const std::string& source,
                          const std::string& messages) {
  std::vector<std::string> lines;
  for (std::istringstream text(kernels); std::getline(text, lines.emplace_back());) {
  }
  const std::string place = source + ":";
  std::string out;
  std::istringstream said(messages);
  for (std::string message; std::getline(said, message);) {
    out += message + "\n";
    const auto at = message.find(place);
    const int line = at == message.npos ? 0 : std::atoi(message.c_str() + at + place.size());
    if (line < 1 || static_cast<std::size_t>(line) > lines.size()) continue;
    const std::string& shown = lines[static_cast<std::size_t>(line) - 1];
    if (messages.find(shown) != messages.npos) continue;
    out += "  " + shown + "\n";
    const auto column_at = message.find(':', at + place.size());
    const int column = column_at == message.npos ? 0 : std::atoi(message.c_str() + column_at + 1);
    if (column > 0) out += std::string(2 + static_cast<std::size_t>(column - 1), ' ') + "^\n";
  }
  return out;
}

// The compiler saw a copy of the lab's file, with the same lines. Each word of its messages that ends in
// ".cl" before a colon and a number is the copy's name.
std::string in_terms_of(const std::string& source, std::string_view messages) {
  constexpr std::string_view ending = ".cl:";
  std::string out;
  for (std::size_t at = messages.find(ending); at != messages.npos; at = messages.find(ending)) {
    const std::size_t rest = at + ending.size(), word = messages.find_last_of(" \n", at);
    const bool is_place = rest < messages.size() && std::isdigit(static_cast<unsigned char>(messages[rest]));
    out += is_place ? fmt::format("{}{}:", messages.substr(0, word == messages.npos ? 0 : word + 1), source)
                    : std::string(messages.substr(0, rest));
    messages.remove_prefix(rest);
  }
  return out.append(messages);
}

class Program {
public:
  Program(Options options, Heading heading, std::span<const Rung> rungs, std::vector<lab::Rung> plain,
          char** argv)
      : options_(std::move(options)), heading_(std::move(heading)), rungs_(rungs), plain_(std::move(plain)),
        regions_(read_regions(heading_.source)),
        session_(options_, heading_, names_asked_for(), argv, aside_) {}

  int list() const { return print_list(heading_, plain_, regions_, options_.json), 0; }

  int run_all() {
    const bool any_filled = std::any_of(rungs_.begin(), rungs_.end(), [&](const Rung& rung) {
      return asked(rung) && !next_todo(regions_, plain_, rung.what);
    });
    if (any_filled) open_and_compile();
    if (any_filled) session_.watch(), leave_crashes_to_the_parent();
    for (const Rung& rung : rungs_) {
      if (!asked(rung)) continue;
      trail().begins(rung.what.name);
      const Result result = result_of(rung);
      session_.add(result);
      trail().ends();
      const bool as_text = !options_.json && !options_.tap;
      if (as_text && rung.what.cannot_be_right && result.state == State::pass)
        fmt::print("    {}\n", result.checks.back().message);
    }
    return session_.finish();
  }

private:
  bool asked(const Rung& rung) const { return options_.asks_for(rung.what.name); }

  std::vector<std::string> names_asked_for() const {
    std::vector<std::string> names;
    for (const Rung& rung : rungs_) {
      if (asked(rung)) names.push_back(rung.what.name);
    }
    return names;
  }

  void open_and_compile() {
    device_ = open(options_.device);
    fmt::print(stderr, "OpenCL device: {} ({}).\n", device_.name, device_.platform);
    const std::optional<std::string> kernels = read_text(heading_.source);
    if (!kernels) throw Error(fmt::format("cannot read the kernels: {}", heading_.source));
    try {
      can_count_ = compile(*kernels);
    } catch (const BuildError& error) {
      build_log_ = with_lines_of(*kernels, heading_.source, in_terms_of(heading_.source, error.what()));
      fmt::print(stderr, "{}", build_log_);
    }
  }

  Result result_of(const Rung& rung) {
    Result result;
    result.rung = rung.what.name;
    const unsigned group = block_for(rung.what, options_);
    if (const Region* todo = next_todo(regions_, plain_, rung.what)) {
      result.state = State::todo, result.reason = todo->todo, result.line = todo->todo_line;
    } else if (!build_log_.empty()) {
      result.state = State::not_built, result.reason = "the kernels do not compile";
      result.checks.push_back(
          {.name = "the kernels compile", .ok = false, .message = build_log_, .diagnosis = {}});
    } else if (group > device_.largest_group) {
      result.state = State::skip;
      result.reason = fmt::format("this device's work-groups hold at most {} items", device_.largest_group);
    } else {
      result = check(rung);
    }
    result.file = heading_.source;
    return result;
  }

  Result check(const Rung& rung) {
    Findings findings;
    Barriers barriers;
    std::string luck;
    Progress& progress = session_.begin();
    session_.says_of_endless("a kernel does not end: is there a loop whose condition stays true?");
    try {
      if (can_count_.barriers) barriers = look_at_barriers(rung, device_, options_, progress);
      trail().knows(barriers.not_for_all);
      if (!barriers.not_for_all.empty()) {
        session_.says_of_endless(barriers.not_for_all);
        session_.explains(barrier_not_for_all(barriers.not_for_all));
      }
      check_rung(rung, device_, options_, progress);
      findings.checks = progress.so_far();
      const bool right = !first_failed(findings.checks);
      if (right && !rung.what.cannot_be_right)
        luck = !barriers.not_for_all.empty()    ? barriers.not_for_all
               : !barriers.other_memory.empty() ? barriers.other_memory
                                                : luck_of(rung, device_, options_);
      if (right && luck.empty() && can_count_.uses) findings.technique = check_technique(rung, options_);
    } catch (const Error& error) {
      progress.add({.name = "the rung runs", .ok = false, .message = error.what(), .diagnosis = {}});
      findings.checks = progress.so_far();
    } catch (const std::exception& error) {
      progress.add({.name = "the rung runs", .ok = false, .message = exception_text(error), .diagnosis = {}});
      findings.checks = progress.so_far();
    }
    return verdict_on(rung, std::move(findings), barriers, luck);
  }

  Options options_;
  Heading heading_;
  std::span<const Rung> rungs_;
  std::vector<lab::Rung> plain_;
  std::vector<Region> regions_;
  Device device_;
  std::string build_log_;
  Countable can_count_;
  StdoutAside aside_{false}; // PoCL prints what a kernel prints at any time
  Session session_;
};

// If a signal ended the process that ran the rungs: the verdict on the rung that it was checking and, from a
// new process, on the rungs that have not been reported yet.
int tell_of_the_end(const Options& options, const Heading& heading, std::span<const Rung> rungs, char** argv,
                    int signal) {
  const std::optional<std::string> ended = trail().rung();
  if (!ended || signal == SIGINT || signal == SIGTERM || signal == SIGHUP) end_by(signal);
  const bool is_text = !options.json && !options.tap;
  std::vector<std::string> names{*ended};
  bool is_later = false;
  for (const Rung& rung : rungs) {
    // As text, the rungs before have been reported.
    if (options.asks_for(rung.what.name) && rung.what.name != *ended && (is_later || !is_text))
      names.emplace_back(rung.what.name);
    is_later = is_later || rung.what.name == *ended;
  }
  Check check = trail().check();
  const bool was_wrong = !check.ok;
  if (was_wrong) {
    check.diagnosis = {"ended-the-program", "Then " + crash_text(signal, true), true};
  } else {
    check.ok = false, check.message = crash_text(signal, trail().known().empty());
  }
  if (const std::string known = trail().known(); !known.empty()) check.diagnosis = barrier_not_for_all(known);
  Findings findings;
  findings.checks.push_back(check);
  Result result = lab::verdict_on(*ended, std::move(findings));
  result.file = heading.source;
  StdoutAside aside(false);
  Session session(options, heading, names, argv, aside);
  session.add(result, was_wrong);
  return session.finish();
}

} // namespace

int main(int argc, char** argv, std::initializer_list<Implementation> named, const char* source) {
  std::string path = find_source(source);
  const std::string lab = lab_of(path);
  path.replace(path.rfind(".cpp"), 4, ".cl");
  try {
    std::vector<lab::Implementation> names;
    for (const Implementation& each : named) names.emplace_back(each.rung, Variant{});
    const std::vector<lab::Rung> plain = with_promises(lab, names);
    std::vector<Rung> rungs;
    for (std::size_t i = 0; i < plain.size(); ++i) rungs.push_back({plain[i], named.begin()[i].reduce});
    const std::optional<Options> options = parse_command_line(argc, argv, lab, plain);
    if (!options) return 0;
    const Heading heading{lab, path};
    if (options->list) return Program(*options, heading, rungs, plain, argv).list();
    trail();
    const Ended ended = run_in_child([&] {
      try {
        return Program(*options, heading, rungs, plain, argv).run_all();
      } catch (const NoDevice& missing) {
        if (options->tap) return print_tap_skip(missing.what()), 0;
        fmt::print(stderr, "{}\n", missing.what());
        return exit_skipped;
      } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return exit_failed;
      }
    });
    return ended.signal == 0 ? ended.exit_code
                             : tell_of_the_end(*options, heading, rungs, argv, ended.signal);
  } catch (const UsageError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_failed;
  }
}

} // namespace lab::opencl
