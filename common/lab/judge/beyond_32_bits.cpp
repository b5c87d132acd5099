#include "judge/beyond_32_bits.hpp"

#include "run/memory.hpp"

#include <fmt/format.h>

namespace lab {

namespace {

constexpr std::size_t first_of_33_bits = std::size_t{1} << 32;
constexpr std::size_t rows = (1 << 20) + 3, columns = 4099; // more than 2^32 elements together

struct Tried {
  SparseInput input;
  std::string name;
};

Tried tried(const Rung& rung, const Variant& variant, std::uint64_t seed) {
  const unsigned block = rung.min_block; // so that a grid that fits the device walks with few threads
  SparseInput input;
  input.n = first_of_33_bits + block, input.block = block;
  const auto put = [&](std::size_t place, std::size_t n) {
    const std::size_t part = input.parts.size();
    input.parts.push_back({place, make_sequence(variant.type, rung.op, Kind::exact, n, seed + part)});
  };
  put(0, block);
  if (rung.beyond_32_bits == Beyond32Bits::in_a_walk) {
    const auto step = static_cast<std::size_t>(rung.walking_threads(rung.size(input.n, block)));
    const std::size_t last_round = (input.n - block) / step * step; // of the same threads
    put(step, block);
    put(last_round, block);
    return {input, fmt::format("n = {}, all 0 but {} each from elements 0, {} and {} on", input.n, block,
                               step, last_round)};
  }
  if (rung.beyond_32_bits == Beyond32Bits::in_rows) input.n = rows * columns, input.rows = rows;
  put(input.n - block, block);
  if (input.rows > 1)
    return {input, fmt::format("{} rows of {}, all 0 but the first {} elements and the last {}", rows,
                               columns, block, block)};
  if (rung.beyond_32_bits == Beyond32Bits::in_passes)
    return {input, fmt::format("n = {}, all 0 but the first {} and the last {}", input.n, block, block)};
  put(first_of_33_bits / 2 - block, 2 * std::size_t{block});
  return {input, fmt::format("n = {}, all 0 but the first {}, the last {} and {} in the middle", input.n,
                             block, block, 2 * block)};
}

// The rung may ask for more scratch memory than it needs.
std::optional<Outcome> run_if_it_fits(const Variant& variant, const SparseInput& input) {
  try {
    return runner().run_ends(variant, input);
  } catch (const OutOfMemory&) {
    return std::nullopt;
  }
}

// Whether other blocks than those that ran have the first and the last row.
bool is_unwritten(const Outcome& outcome, const Rung& rung, const Variant& variant,
                  const SparseInput& input) {
  const auto is_left = [&](std::size_t row) {
    return row < outcome.results.size() && outcome.results[row] == poison(variant.result_type, Kind::exact);
  };
  return rung.beyond_32_bits == Beyond32Bits::in_rows && (is_left(0) || is_left(input.rows - 1));
}

// "" where they are right.
std::string wrong_with(const std::vector<double>& results, const Rung& rung, const SparseInput& input) {
  const auto sum_of = [&](std::size_t part) {
    const Sequence& numbers = input.parts.at(part).numbers;
    return reduce(numbers, 0, numbers.n).value;
  };
  if (rung.beyond_32_bits == Beyond32Bits::in_rows) {
    for (const std::size_t part : {0, 1}) {
      const std::size_t row = part * (rows - 1);
      if (results.at(row) != sum_of(part))
        return fmt::format("expected {:.16g}, got {:.16g} (row {})", sum_of(part), results[row], row);
    }
    return "";
  }
  double all = 0;
  for (std::size_t part = 0; part < input.parts.size(); ++part) all += sum_of(part);
  return results.at(0) == all ? ""
                              : fmt::format("the blocks that these elements belong to make {:.16g} of them, "
                                            "and together they are {:.16g}",
                                            results[0], all);
}

} // namespace

std::optional<FurtherCheck> check_beyond_32_bits(const Rung& rung, const Options& options) {
  if (rung.beyond_32_bits == Beyond32Bits::not_tried || options.n || options.rows) return std::nullopt;
  const Variant& variant = rung.variants[0];
  const Tried with = tried(rung, variant, options.seed);
  const std::optional<Outcome> outcome = run_if_it_fits(variant, with.input);
  if (!outcome) return std::nullopt;
  if (is_unwritten(*outcome, rung, variant, with.input)) return std::nullopt;
  const std::string wrong =
      outcome->error.empty() ? wrong_with(outcome->results, rung, with.input) : outcome->error;
  FurtherCheck beyond{
      {.name = with.name, .message = wrong, .diagnosis = {}, .n = with.input.n, .decides = true},
      outcome->device_lost};
  Check& check = beyond.check;
  check.ok = wrong.empty();
  if (check.ok) return beyond;
  check.diagnosis = {
      "beyond-32-bits",
      "With the smaller sizes that were tried it is right. From 2^31 on, an int is negative, and from 2^32 = "
      "4294967296 on, an unsigned starts again at 0: are the index, the stride and the number "
      "of elements of 64 bits (std::size_t) wherever they are used, and each product that they "
      "are made of (std::size_t{blockIdx.x} * blockDim.x)? A float, too, counts in ones only up to 2^24.",
      true};
  return beyond;
}

} // namespace lab
