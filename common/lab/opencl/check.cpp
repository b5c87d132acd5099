#include "opencl/check.hpp"

#include "input/cases.hpp"
#include "judge/judge.hpp"
#include "opencl/guard.hpp"
#include "opencl/judge.hpp"
#include "opencl/reason.hpp"
#include "run/watchdog.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace lab::opencl {
namespace {

constexpr int most_tries = 2000;

void check_right(const Rung& rung, const Device& device, const Options& options, Progress& progress) {
  const Variant variant = variant_of(rung);
  std::optional<SearchForReasons> search; // from the first wrong result on
  for (const Case& given : cases_for(rung.what, variant, options)) {
    if (given.offset != 0) continue; // a buffer starts where OpenCL puts it
    if (given.block > device.largest_group) continue;
    if (search && search->is_over()) return;
    const Sequence input = input_of(given, options.seed);
    note(progress, check_for(given));
    Tried tried = try_case(rung, given, input);
    if (!tried.check.ok) {
      note(progress, tried.check);
      if (!search) search.emplace();
    }
    if (!tried.right) tried.check.diagnosis = diagnose_wrong(rung, given, input, tried, *search);
    progress.add(tried.check);
  }
}

// Runs until a result is wrong, and a while longer to see how often. If it never is, nothing is proved.
void check_wrong(const Rung& rung, const Options& options, Progress& progress) {
  const unsigned group = block_for(rung.what, options);
  const std::size_t most = rung.what.most_elements(group);
  // One element fewer than there is room for, so that a partner beyond the end shows.
  const Case alone{Kind::exact, std::size_t{2} * group - 1, 1, group, 0};
  const Sequence small = input_of(alone, options.seed);
  note(progress, check_for(alone));
  Tried tried = try_case(rung, alone, small);
  tried.check.name += ", one work-group: its barrier holds";
  if (!tried.right) note(progress, tried.check);
  if (!tried.right) tried.check.diagnosis = diagnose_wrong(rung, alone, small, tried, SearchForReasons());
  progress.add(tried.check);
  if (!tried.right) return;
  const Case given{Kind::exact, std::min(options.n.value_or(most), most), 1, group, 0};
  const Sequence input = input_of(given, options.seed);
  Check check = check_for(given);
  check.name += ", more work-groups";
  trail().runs(check);
  int tries = 0, wrong = 0;
  double example = 0;
  const auto enough = [&] { return tries >= 100 && wrong > 0; };
  for (; tries < most_tries && !enough(); ++tries) {
    const Tried next = try_case(rung, given, input);
    if (!next.right) ++wrong, example = next.got;
  }
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

} // namespace

void check_rung(const Rung& rung, const Device& device, const Options& options, Progress& progress) {
  rung.what.cannot_be_right ? check_wrong(rung, options, progress)
                            : check_right(rung, device, options, progress);
}

std::string luck_of(const Rung& rung, const Device& device, const Options& options) {
  const Variant variant = variant_of(rung);
  for (const Case& given : cases_for(rung.what, variant, options)) {
    if (given.kind != Kind::exact || given.offset != 0 || given.block > device.largest_group) continue;
    Check check = check_for(given);
    check.name += ", the items in the opposite order";
    trail().runs(check);
    const Tried tried = try_case(rung, given, input_of(given, options.seed), Order::backwards);
    if (tried.right) continue;
    return fmt::format("{}: {}, when the items of a work-group run in the opposite order, the last one "
                       "first. An item reads what another item of its group writes, with no barrier between "
                       "them that all items pass (a race), or what no item has written.",
                       tried.check.name, tried.check.message);
  }
  return "";
}

} // namespace lab::opencl
