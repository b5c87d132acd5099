// D = A * B + C on whole matrices, as a tensor core computes it.
#pragma once

#include "matrix_shapes.hpp"

#include <cstdint>

namespace warpfold::machine {

struct MatrixForm {
  unsigned m = 0, n = 0, k = 0; // k in elements; for Element::bit in words of 32
  Element a{}, b{}, c{}, d{};
  bool saturates = false; // integers: clamps to the type's range instead of wrapping around
  bool conjoins = false;  // single bits: `and` instead of `xor`
};

// The bits of each element. A and B have k as their fast dimension, C and D have the columns.
struct MatrixOperands {
  static constexpr unsigned most_factors = 1024, most_sums = 256;
  std::uint64_t a[most_factors], b[most_factors], c[most_sums], d[most_sums];
};

// Sets `d`.
//
// PTX leaves open in which order, and how precisely, products of floating-point numbers are added (PTX ISA
// 9.7.14.5, "mma"). Sums that are exact in every order are the same on every device; for all others, this is
// what an H100 computes. Every bit of 900000 results was compared with one, sparse and tiny factors among
// them; tests/emulator/programs/matrix_sums.cu prints more.
//
// - Half, bfloat16 and tf32: the products are exact. Those that are not 0, and C, are aligned to the largest
//   exponent among them (that of a product is the sum of its factors' exponents), and cut off 25 bits below
//   that. These are added without error, and the sum is rounded once: towards zero to float, or to nearest to
//   half.
// - Double: fused multiply-adds, in the order of k.
void multiply(const MatrixForm& form, MatrixOperands& operands);

} // namespace warpfold::machine
