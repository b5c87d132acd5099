#include "opencl/judge.hpp"

#include "judge/judge.hpp"
#include "run/watchdog.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace lab::opencl {

Sequence input_of(const Case& given, std::uint64_t seed) {
  return make_sequence(Type::float32, Operator::add, given.kind, given.n, seed);
}

std::vector<float> floats_of(const Sequence& sequence) {
  std::vector<float> values(sequence.n);
  for (std::size_t i = 0; i < sequence.n; ++i) values[i] = static_cast<float>(sequence[i]);
  return values;
}

Tried try_case(const Rung& rung, const Case& given, const Sequence& input, Order order) {
  Tried tried;
  tried.check = check_for(given);
  const std::vector<float> values = floats_of(input);
  std::vector<float> after = values;
  const WatchedRun watched; // a kernel on a CPU runs inside this process, and nothing stops it
  const Ran ran =
      run(rung.reduce, after, static_cast<float>(poison(Type::float32, given.kind)), given.block, order);
  tried.got = ran.result, tried.groups = std::max<std::size_t>(ran.groups, 1);
  const Expectation expected = expect(rung.what, given, input, 0);
  tried.right = tried.check.ok = is_right(expected, tried.got);
  if (!ran.damage.empty()) {
    tried.check.ok = false;
    tried.check.message = fmt::format("the kernel writes where there is no element: {}", ran.damage);
  } else if (!tried.right) {
    tried.check.message = fmt::format("expected {:.9g}, got {:.9g}", expected.reference.value, tried.got);
  } else if (!rung.what.overwrites_input && after != values) {
    tried.check.ok = false, tried.check.message = "the input was changed";
  } else if (expected.tolerance > 0) {
    tried.check.message = fmt::format("error {:.3g}, bound {:.3g}",
                                      std::abs(tried.got - expected.reference.value), expected.tolerance);
  }
  return tried;
}

} // namespace lab::opencl
