// Whether a rung keeps its promises, by what the emulator counts while it runs.
#pragma once

#include "judge/check.hpp"
#include "promises/rung.hpp"
#include "run/recorded.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace lab {

struct Options;

// Runs the variant once on n elements (or the most it takes), of as many rows as rows_for() says, and counts.
// `result`, if there is one, says whether the result was right. Throws DeviceError.
Recorded profile_rung(const Rung& rung, const Variant& variant, std::size_t n, unsigned block,
                      std::uint64_t seed, std::optional<std::size_t> asked_rows, Check* result = nullptr);

// What to count on: the number of elements, of rows (0: the rung has no rows, or any number will do), and of
// threads per block (0: the usual number).
struct Shape {
  std::size_t n, rows;
  unsigned block = 0;
};
// Drawn from the seed, so that no kernel can know in which run it is counted.
std::vector<Shape> counted_shapes(const Variant& variant, std::uint64_t seed);

// Compares the rung's promises with what was counted: a check for each.
std::vector<Check> hold_promises(const Rung& rung, const Profile& profile, const Variant& variant);

// Counts on each shape until a promise is broken, or the result is wrong in a run that is counted.
struct Technique {
  std::vector<Check> promises;
  std::optional<Check> wrong_result;
};
Technique check_technique(const Rung& rung, const Options& options);

// Compares a promise with what was measured; the message has the numbers.
Check judge_promise(const Promise& promise, double measured, double bound);

// Tries a rung whose kernel must take the operator from its caller with another operator.
std::vector<Check> check_other_operators(const Rung& rung, const Options& options);

} // namespace lab
