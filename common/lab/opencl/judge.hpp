// One run of a rung on one input, and whether its result is right.
#pragma once

#include "judge/check.hpp"
#include "opencl/context.hpp"
#include "opencl/rung.hpp"
#include "run/runner.hpp"

namespace lab::opencl {

Sequence input_of(const Case& given, std::uint64_t seed);
std::vector<float> floats_of(const Sequence& sequence);

struct Tried {
  Check check;
  double got = 0;
  std::size_t groups = 1;
  bool right = false; // the result; the check fails, too, if the rung writes where it must not
};
Tried try_case(const Rung& rung, const Case& given, const Sequence& input, Order order = Order::as_it_comes);

} // namespace lab::opencl
