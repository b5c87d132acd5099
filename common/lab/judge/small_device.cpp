#include "judge/small_device.hpp"

#include "judge/judge.hpp"
#include "run/runner.hpp"

#include <fmt/format.h>
#include <utility>

namespace lab {

OneMultiprocessor::OneMultiprocessor() : usual_(device()) {
  Device small = usual_;
  small.multiprocessors = 1;
  use_device(small);
}

OneMultiprocessor::~OneMultiprocessor() {
  use_device(usual_);
}

std::string OneMultiprocessor::in_words() const {
  return fmt::format("On a GPU with one multiprocessor (WARPFOLD_GRID_FOR=1x{}), ",
                     usual_.threads_per_multiprocessor);
}

std::optional<FurtherCheck> check_on_small_device(const Rung& rung, const Options& options) {
  if (!on_emulator() || rung.small_device_n == 0 || options.n || options.rows) return std::nullopt;
  const Variant& variant = rung.variants[0];
  const Case given{Kind::exact, rung.small_device_n, 1, block_for(rung, options), 0};
  const OneMultiprocessor small;
  Check check = check_for(given, small.in_words());
  const Sequence input = make_sequence(variant.type, rung.op, given.kind, given.n, options.seed);
  const Outcome outcome = run_once(variant, given, input);
  judge(rung, given, input, outcome, check);
  check.decides = true;
  if (!check.ok) check.diagnosis = {"small-device", rung.on_small_device, true};
  return FurtherCheck{std::move(check), outcome.device_lost};
}

} // namespace lab
