// A rung of lab 10: what it promises, and its host function.
#pragma once

#include "opencl/opencl.hpp"
#include "promises/rung.hpp"

namespace lab::opencl {

struct Rung {
  lab::Rung what;
  void (*reduce)(Run& run);
};

// What the rung reduces, and how: there is no CUDA host function whose signature would say so.
inline Variant variant_of(const Rung& rung) {
  Variant variant;
  variant.type = Type::float32, variant.in_place = rung.what.overwrites_input;
  return variant;
}

} // namespace lab::opencl
