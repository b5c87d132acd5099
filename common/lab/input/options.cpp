#include "input/options.hpp"

#include <algorithm>

namespace lab {

bool Options::asks_for(std::string_view rung) const {
  return rungs.empty() || std::find(rungs.begin(), rungs.end(), rung) != rungs.end();
}

unsigned block_for(const Rung& rung, const Options& options) {
  return options.block ? *options.block : std::clamp(256u, rung.min_block, rung.max_block);
}

double time_limit_for(const Options& options) {
  constexpr double usual = 10, usual_n = 0x1p22;
  const double n = static_cast<double>(options.n.value_or(0));
  return options.time_limit.value_or(usual * std::max(1.0, n / usual_n));
}

} // namespace lab
