#include "judge/beyond_32_bits.hpp"

#include <fmt/format.h>

namespace lab {

std::optional<BeyondCheck> check_beyond_32_bits(const Rung& rung, const Options& options) {
  if (!rung.beyond_32_bits || options.n) return std::nullopt;
  const Variant& variant = rung.variants[0];
  const unsigned block = rung.min_block; // so that a grid that fits the device walks with few threads
  const std::size_t n = (std::size_t{1} << 32) + block;
  const Sequence first = make_sequence(variant.type, rung.op, Kind::exact, block, options.seed);
  const std::optional<Outcome> outcome = runner().run_ends(variant, n, block, first);
  if (!outcome) return std::nullopt;
  const double all = reduce(first, 0, first.n).value;
  BeyondCheck beyond{{.name = fmt::format("n = {}, all 0 but the first {}", n, block),
                      .message = "",
                      .diagnosis = {},
                      .n = n,
                      .decides = true},
                     outcome->device_lost};
  Check& check = beyond.check;
  check.ok = outcome->error.empty() && outcome->results.at(0) <= all;
  if (check.ok) return beyond;
  check.message = outcome->error.empty()
                      ? fmt::format("the first and the last block alone make {:.16g} of them, and all "
                                    "elements together are {:.16g}",
                                    outcome->results[0], all)
                      : outcome->error;
  check.diagnosis = {
      "beyond-32-bits",
      "With the smaller sizes that were tried it is right. From 2^31 on, an int is negative, and from 2^32 = "
      "4294967296 on, an unsigned starts again at 0: are the index, the stride and the number "
      "of elements of 64 bits (std::size_t) wherever they are used, and each product that they "
      "are made of (std::size_t{blockIdx.x} * blockDim.x)?",
      true};
  return beyond;
}

} // namespace lab
