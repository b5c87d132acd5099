// The inputs that a rung is tried on.
#pragma once

#include "input/case.hpp"
#include "input/options.hpp"

namespace lab {

// The devices that a case may use.
struct Devices {
  unsigned count = 1;
  bool emulated = false;
  unsigned largest_block = 1024;
  std::size_t memory = 0; // bytes
};

// The cases that a variant is tried on, smallest first.
std::vector<Case> cases_for(const Rung& rung, const Variant& variant, const Options& options,
                            const Devices& there = {});

// Whether the variant's results round, so that they depend on the order of the operations.
bool has_rounding(const Rung& rung, const Variant& variant);

// The size of the largest usual input: not a power of two, and not a multiple of a block.
inline constexpr std::size_t prime_near_a_million = 999983;

} // namespace lab
