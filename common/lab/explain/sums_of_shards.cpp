// Sums over several devices: a device's part that is missing, or is all there is.
#include "explain/hypotheses.hpp"
#include "input/case.hpp"

#include <fmt/format.h>

namespace lab {

void add_shards(Hypotheses& all) {
  const unsigned devices = all.symptom.given.devices;
  if (devices < 2) return;
  for (unsigned k = 0; k < devices; ++k) {
    const std::size_t first = first_of_part(all.n, devices, k), last = first_of_part(all.n, devices, k + 1);
    if (first == last || last - first == all.n) continue;
    const auto part = [first, last](const View& v) {
      return reduce(*v.observation.input, first, last).value;
    };
    all.add(
        "missing-device", [part](const View& v) { return v.observation.expected - part(v); },
        [=] {
          return fmt::format("The sum of device {}'s shard is missing: elements {} to {}.", k, first,
                             last - 1);
        });
    if (devices > 2 || k == 0) // of two, the other's is missing
      all.add("only-device", part, [=] {
        return fmt::format("The result is the sum of device {}'s shard alone: elements {} to {}.", k, first,
                           last - 1);
      });
  }
}

} // namespace lab
