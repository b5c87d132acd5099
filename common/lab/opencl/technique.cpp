#include "opencl/technique.hpp"

#include "judge/technique.hpp"
#include "opencl/context.hpp"
#include "opencl/judge.hpp"

#include <algorithm>
#include <numeric>

namespace lab::opencl {

std::vector<Check> check_technique(const Rung& rung, const Options& options) {
  const unsigned group = block_for(rung.what, options);
  const std::size_t n = std::min<std::size_t>(std::size_t{1} << 18, rung.what.most_elements(group));
  const std::vector<float> before = floats_of(input_of({Kind::exact, n, 1, group}, options.seed));
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

} // namespace lab::opencl
