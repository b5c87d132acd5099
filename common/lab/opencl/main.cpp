// Checks lab 10's rungs on an OpenCL device, with the inputs and in the words of the other labs.
#include "checking/cases.hpp"
#include "checking/progress.hpp"
#include "checking/technique.hpp"
#include "checking/verdict.hpp"
#include "command_line.hpp"
#include "diagnosis/diagnosis.hpp"
#include "opencl/context.hpp"
#include "opencl/guard.hpp"
#include "promises/course.hpp"
#include "reporting/report.hpp"
#include "session.hpp"
#include "source/source_file.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <csignal>
#include <fmt/format.h>
#include <numeric>

namespace lab::opencl {
namespace {

struct Rung {
  lab::Rung what;
  void (*reduce)(Run& run);
};

constexpr int most_tries = 2000;

// Made before the child process is.
Trail& trail() {
  static Trail only;
  return only;
}

// Tells the session and, should this process end, its parent about a check.
void note(Progress& progress, const Check& check) {
  trail().runs(check);
  check.ok ? progress.runs(check) : progress.is_wrong(check);
}

std::vector<float> floats_of(const Sequence& sequence) {
  std::vector<float> values(sequence.n);
  for (std::size_t i = 0; i < sequence.n; ++i) values[i] = static_cast<float>(sequence[i]);
  return values;
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

struct Tried {
  Check check;
  double got = 0;
  std::size_t groups = 1;
  bool right = false;
};

// What the rung reduces, and how: there is no CUDA host function whose signature would say so.
Variant variant_of(const Rung& rung) {
  Variant variant;
  variant.type = Type::float32, variant.in_place = rung.what.overwrites_input;
  return variant;
}

// One run on one input.
Tried try_case(const Rung& rung, const Case& given, const Sequence& input, Order order = Order::as_it_comes) {
  Tried tried;
  tried.check.name = describe(given), tried.check.n = given.n;
  tried.check.usual = given.kind == Kind::exact && given.block == 256;
  const std::vector<float> values = floats_of(input);
  std::vector<float> after = values;
  const WatchedRun watched; // a kernel on a CPU runs inside this process, and nothing stops it
  const Ran ran =
      run(rung.reduce, after, static_cast<float>(poison(Type::float32, given.kind)), given.block, order);
  tried.got = ran.result, tried.groups = std::max<std::size_t>(ran.groups, 1);
  const Reference reference = reduce(input, 0, given.n);
  const double most = given.n > 0 ? static_cast<double>(given.n) - 1 : 0;
  const double depth = rung.what.error_depth
                           ? std::min(rung.what.error_depth(rung.what.size(given.n, given.block)), most)
                           : most;
  const double allowed = tolerance(input, reference, depth), error = std::abs(tried.got - reference.value);
  tried.right = allowed == 0 ? tried.got == reference.value : error <= allowed;
  tried.check.ok = tried.right;
  if (!ran.damage.empty()) {
    tried.check.ok = false;
    tried.check.message = fmt::format("the kernel writes where there is no element: {}", ran.damage);
  } else if (!tried.right) {
    tried.check.message = fmt::format("expected {:.9g}, got {:.9g}", reference.value, tried.got);
  } else if (!rung.what.overwrites_input && after != values) {
    tried.check.ok = false, tried.check.message = "the input was changed";
  } else if (allowed > 0) {
    tried.check.message = fmt::format("error {:.3g}, bound {:.3g}", error, allowed);
  }
  return tried;
}

// The diagnoses use CUDA's terms.
std::string in_words_of_opencl(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"whole grid", "whole launch, get_global_size(0)"},
      {"blocks", "work-groups"},
      {"block", "work-group"},
      {"threads", "items"},
      {"thread", "item"}};
  for (const auto& [cuda, opencl] : words) {
    for (std::size_t at = 0; (at = text.find(cuda, at)) != text.npos; at += opencl.size())
      text.replace(at, cuda.size(), opencl);
  }
  return text;
}

// What the wrong number looks like, on this input and on another.
Diagnosis diagnose_wrong(const Rung& rung, const Case& given, const Sequence& input, const Tried& tried) {
  const Sequence other =
      make_sequence(Type::float32, Operator::add, given.kind, given.n, input.seed + 1000003);
  Symptom symptom{given, static_cast<unsigned>(tried.groups), {}, {}};
  symptom.observations.push_back({&input, reduce(input, 0, given.n).value, tried.got});
  symptom.again.push_back(try_case(rung, given, input).got);
  symptom.observations.push_back({&other, reduce(other, 0, given.n).value, try_case(rung, given, other).got});
  Diagnosis found = diagnose(symptom);
  if (found.kind == "not-a-number")
    found.text =
        "The result is not a number: the check puts NaN into all memory that nothing has written, local "
        "memory too, and beyond both ends of each array, so some of that was used. Is each index below n (<, "
        "not <=), or below the size of the group, and is each element written before it is read?";
  if (!found.text.empty()) return found.text = in_words_of_opencl(std::move(found.text)), found;
  const Tried backwards = try_case(rung, given, input, Order::backwards);
  if (backwards.got != tried.got)
    found = {"order-of-items",
             fmt::format("With the items of a work-group in the opposite order, the last one first, it is "
                         "{:.9g}: in one step, an item reads what another item of its group changes (a "
                         "race), or what no item has written. Do two items use the same element?",
                         backwards.got),
             true};
  return found;
}

void check_right(const Rung& rung, const Device& device, const Options& options, Progress& progress) {
  const Variant variant = variant_of(rung);
  std::optional<SearchForReasons> search; // from the first wrong result on
  for (const Case& given : cases_for(rung.what, variant, options)) {
    if (given.offset != 0) continue; // a buffer starts where OpenCL puts it
    if (given.block > device.largest_group) continue;
    const Sequence input = make_sequence(Type::float32, Operator::add, given.kind, given.n, options.seed);
    if (search && search->is_over()) return;
    note(progress, {.name = describe(given), .message = "", .diagnosis = {}, .n = given.n});
    Tried tried = try_case(rung, given, input);
    if (!tried.check.ok) {
      note(progress, tried.check);
      if (!search) search.emplace();
    }
    if (!tried.right) tried.check.diagnosis = diagnose_wrong(rung, given, input, tried);
    progress.add(tried.check);
  }
}

// A rung that is right for only one order of a group's items is right by luck. Says so, or returns "".
std::string luck_of(const Rung& rung, const Device& device, const Options& options) {
  const Variant variant = variant_of(rung);
  for (const Case& given : cases_for(rung.what, variant, options)) {
    if (given.kind != Kind::exact || given.offset != 0 || given.block > device.largest_group) continue;
    const Sequence input = make_sequence(Type::float32, Operator::add, given.kind, given.n, options.seed);
    trail().runs({.name = describe(given) + ", the items in the opposite order",
                  .message = "",
                  .diagnosis = {},
                  .n = given.n});
    const Tried tried = try_case(rung, given, input, Order::backwards);
    if (tried.right) continue;
    return fmt::format("{}: {}, when the items of a work-group run in the opposite order, the last one "
                       "first. An item reads what another item of its group writes, with no barrier between "
                       "them that all items pass (a race), or what no item has written.",
                       tried.check.name, tried.check.message);
  }
  return "";
}

// What the barriers that the items reach say about a kernel; "" if all is well.
struct Barriers {
  std::string not_for_all; // some items of a group reach more of them than others
  std::string few;         // fewer of them than a tree has steps
  std::string other_memory;
};

Barriers look_at_barriers(const Rung& rung, const Device& device, const Options& options,
                          Progress& progress) {
  constexpr std::size_t some = 300;
  const unsigned group = std::min<unsigned>(64, static_cast<unsigned>(device.largest_group));
  const std::size_t n = std::min(some, rung.what.most_elements(group)) - 1; // no multiple of a group
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, n, options.seed);
  std::vector<float> values = floats_of(input);
  note(progress,
       {.name = describe(Case{Kind::exact, n, 1, group, 0}), .message = "", .diagnosis = {}, .n = n});
  const WatchedRun watched;
  const Ran ran = run(rung.reduce, values, 0, group, Order::barriers);
  const std::size_t items = std::max<std::size_t>(ran.groups, 1) * group;
  const auto met = [&](std::size_t item) { return ran.uses[3 * item]; };
  Barriers found;
  std::size_t all = 0, of_global = 0, of_local = 0;
  for (std::size_t item = 0; item < items; ++item) {
    all += met(item), of_global += ran.uses[3 * item + 1], of_local += ran.uses[3 * item + 2];
    const std::size_t first = item / group * group;
    if (met(item) != met(first) && found.not_for_all.empty())
      found.not_for_all = fmt::format(
          "With n = {} and groups of {}, item {} reaches {} barriers, but item {} of the same group reaches "
          "{}. A barrier waits for all items of the group: all of them must reach each one, even those that "
          "have nothing to add. Is it in a branch, or does an item leave (return, break) before it?",
          n, group, first, met(first), item, met(item));
  }
  // The last group takes part in the first launch only.
  const std::size_t steps = static_cast<std::size_t>(log2(group)), each = met(items - 1);
  if (each < steps)
    found.few = fmt::format("An item reaches {} barrier{} in all, but a group of {} has {} steps: between "
                            "two of them, every item must wait for the others at a barrier.",
                            each == 0 ? "no" : std::to_string(each), each == 1 ? "" : "s", group, steps);
  if (all == 0) return found;
  if (ran.shares_local ? of_local < all : of_global < all)
    found.other_memory =
        fmt::format("a barrier names only {} memory, but what the items of a group share lies in {} memory. "
                    "On a CPU, a barrier orders accesses to all memory; OpenCL promises this only for the "
                    "memory that the flag names: {} is needed.",
                    ran.shares_local ? "global" : "local", ran.shares_local ? "local" : "global",
                    ran.shares_local ? "CLK_LOCAL_MEM_FENCE" : "CLK_GLOBAL_MEM_FENCE");
  return found;
}

// Runs until a result is wrong, and a while longer to see how often. If it never is, nothing is proved.
void check_wrong(const Rung& rung, const Options& options, Progress& progress) {
  const unsigned group = block_for(rung.what, options);
  const std::size_t most = rung.what.most_elements(group);
  // One element fewer than there is room for, so that a partner beyond the end shows.
  const Case alone{Kind::exact, std::size_t{2} * group - 1, 1, group, 0};
  const Sequence small = make_sequence(Type::float32, Operator::add, Kind::exact, alone.n, options.seed);
  note(progress, {.name = describe(alone), .message = "", .diagnosis = {}, .n = alone.n});
  Tried tried = try_case(rung, alone, small);
  tried.check.name += ", one work-group: its barrier holds";
  if (!tried.right) note(progress, tried.check);
  if (!tried.right) tried.check.diagnosis = diagnose_wrong(rung, alone, small, tried);
  progress.add(tried.check);
  if (!tried.right) return;
  const Case given{Kind::exact, std::min(options.n.value_or(most), most), 1, group, 0};
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, given.n, options.seed);
  trail().runs(
      {.name = describe(given) + ", more work-groups", .message = "", .diagnosis = {}, .n = given.n});
  int tries = 0, wrong = 0;
  double example = 0;
  const auto enough = [&] { return tries >= 100 && wrong > 0; };
  for (; tries < most_tries && !enough(); ++tries) {
    const Tried next = try_case(rung, given, input);
    if (!next.right) ++wrong, example = next.got;
  }
  Check check{.name = describe(given) + ", more work-groups", .message = "", .diagnosis = {}, .n = given.n};
  if (wrong > 0) {
    check.message =
        fmt::format("wrong in {} of {} runs, as it must be now and then: {:.9g} instead of {:.9g}", wrong,
                    tries, example, reduce(input, 0, given.n).value);
  } else {
    check.skipped = true;
    check.message = fmt::format(
        "right in all {} runs, by luck: another device or a busier machine can make it wrong", tries);
  }
  progress.add(check);
}

// Runs once more with items that count, and compares the rung's promises with the counts: a check for each.
std::vector<Check> check_technique(const Rung& rung, const Options& options) {
  const unsigned group = block_for(rung.what, options);
  const std::size_t n = std::min<std::size_t>(std::size_t{1} << 18, rung.what.most_elements(group));
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, n, options.seed);
  const std::vector<float> before = floats_of(input);
  std::vector<float> after = before;
  const Ran ran = run(rung.reduce, after, 0, group, Order::counted);
  const auto last_group =
      ran.uses.begin() + std::ptrdiff_t((std::max<std::size_t>(ran.groups, 1) - 1) * group);
  double changed = 0;
  for (std::size_t i = n / 2; i < n; ++i) changed += after[i] != before[i];
  Profile profile;
  profile.n = n, profile.block = group;
  profile.totals = {
      {"blocks", double(ran.groups)},
      {"uses_by_item", double(*std::max_element(ran.uses.begin(), ran.uses.end()))},
      {"uses_by_last_group", std::accumulate(last_group, last_group + std::ptrdiff_t(group), 0.0)},
      {"uses_by_first_items", std::accumulate(ran.uses.begin(), ran.uses.begin() + 32, 0.0)},
      {"changed_in_upper_half", changed}};
  return hold_promises(rung.what, profile, variant_of(rung));
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
  bool asked(const Rung& rung) const {
    return options_.rungs.empty() ||
           std::find(options_.rungs.begin(), options_.rungs.end(), rung.what.name) != options_.rungs.end();
  }

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
      build_log_ = in_terms_of(heading_.source, error.what());
      fmt::print(stderr, "{}\n", build_log_);
    }
  }

  Result result_of(const Rung& rung) {
    Result result;
    result.rung = rung.what.name, result.file = heading_.source;
    const unsigned group = block_for(rung.what, options_);
    if (const Region* todo = next_todo(regions_, plain_, rung.what)) {
      result.state = State::todo, result.reason = todo->todo, result.line = todo->todo_line;
    } else if (!build_log_.empty()) {
      result.state = State::wrong, result.reason = "the kernels do not compile";
      result.checks.push_back(
          {.name = "the kernels compile", .ok = false, .message = build_log_, .diagnosis = {}});
    } else if (group > device_.largest_group) {
      result.state = State::skip;
      result.reason = fmt::format("this device's work-groups hold at most {} items", device_.largest_group);
    } else {
      check(rung, result);
    }
    return result;
  }

  void check(const Rung& rung, Result& result) {
    std::string luck;
    std::vector<Check> technique;
    const auto has_failed = [](const Check& c) { return !c.ok; };
    Progress& progress = session_.begin();
    session_.says_of_endless("a kernel does not end: is there a loop whose condition stays true?");
    Barriers barriers;
    try {
      if (can_count_.barriers) barriers = look_at_barriers(rung, device_, options_, progress);
      trail().knows(barriers.not_for_all);
      if (!barriers.not_for_all.empty()) {
        session_.says_of_endless(barriers.not_for_all);
        session_.explains({"barrier-not-for-all", barriers.not_for_all, true});
      }
      rung.what.cannot_be_right ? check_wrong(rung, options_, progress)
                                : check_right(rung, device_, options_, progress);
      result.checks = progress.so_far();
      if (!rung.what.cannot_be_right && std::none_of(result.checks.begin(), result.checks.end(), has_failed))
        luck = !barriers.not_for_all.empty()    ? barriers.not_for_all
               : !barriers.other_memory.empty() ? barriers.other_memory
                                                : luck_of(rung, device_, options_);
      if (can_count_.uses && luck.empty() &&
          std::none_of(result.checks.begin(), result.checks.end(), has_failed))
        technique = check_technique(rung, options_);
    } catch (const Error& error) {
      progress.add({.name = "the rung runs", .ok = false, .message = error.what(), .diagnosis = {}});
      result.checks = progress.so_far();
    }
    const auto failed = std::find_if(result.checks.begin(), result.checks.end(), has_failed);
    if (failed != result.checks.end()) {
      result.state = State::wrong;
      result.reason = fmt::format("{}: {}", failed->name, failed->message);
      result.diagnosis = diagnosis_beside(result.checks, *failed);
      if (!barriers.not_for_all.empty()) {
        result.diagnosis = {"barrier-not-for-all", barriers.not_for_all, true};
      } else if (!barriers.few.empty()) {
        result.diagnosis.text += (result.diagnosis.text.empty() ? "" : " ") + barriers.few;
        if (result.diagnosis.kind.empty()) result.diagnosis.kind = "no-barrier";
      }
    } else if (!luck.empty()) {
      result.state = State::hazard;
      result.reason = "right, but by luck: " + luck;
      result.checks.push_back({.name = "whatever the device makes of a work-group's items",
                               .ok = false,
                               .message = luck,
                               .diagnosis = {}});
    }
    const auto off = std::find_if(technique.begin(), technique.end(), has_failed);
    if (result.state == State::pass && off != technique.end()) {
      result.state = State::off_technique;
      result.reason = off->message;
    }
    // For a rung that is wrong on purpose, the last check says how often it was.
    result.checks.insert(result.checks.end() - (rung.what.cannot_be_right && !result.checks.empty() ? 1 : 0),
                         technique.begin(), technique.end());
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
    const bool asked = options.rungs.empty() || std::find(options.rungs.begin(), options.rungs.end(),
                                                          rung.what.name) != options.rungs.end();
    // As text, the rungs before have been reported.
    if (asked && rung.what.name != *ended && (is_later || !is_text)) names.emplace_back(rung.what.name);
    is_later = is_later || rung.what.name == *ended;
  }
  Check check = trail().check();
  const bool was_wrong = !check.ok;
  if (was_wrong) {
    check.diagnosis = {"ended-the-program", "Then " + crash_text(signal, true), true};
  } else {
    check.ok = false, check.message = crash_text(signal, trail().known().empty());
  }
  if (const std::string known = trail().known(); !known.empty())
    check.diagnosis = {"barrier-not-for-all", known, true};
  Findings findings;
  findings.checks.push_back(check);
  Result result = verdict_on(*ended, std::move(findings));
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
