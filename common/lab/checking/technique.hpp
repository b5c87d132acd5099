// Whether a rung keeps its promise, by what it does when it runs on the emulator.
#pragma once

#include "checking/profile.hpp"
#include "source/regions.hpp"

#include <span>

namespace lab {

struct Options;

// Runs the variant once on n elements (or the most it takes), of as many rows as rows_for() says, and counts.
// Throws CudaError.
Recorded profile_rung(const Rung& rung, const Variant& variant, std::size_t n, unsigned block,
                      std::uint64_t seed, std::optional<std::size_t> asked_rows);

// One check for each promise; `filled` are the rungs of the lab that can be run, for promises that compare.
std::vector<Check> check_technique(const Rung& rung, std::span<const Rung* const> filled,
                                   const Options& options);

// The promise held against what was measured: ok, or a message with the numbers.
Check judge_promise(const Promise& promise, double measured, double bound);

} // namespace lab
