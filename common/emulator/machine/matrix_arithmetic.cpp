#include "matrix_arithmetic.hpp"

#include "instructions/half.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace warpfold::machine {

namespace {

// A floating-point number with the exponent of its field; subnormal numbers have the smallest, and 0 has
// none.
struct Parts {
  double value = 0;
  int exponent = 0;
};

constexpr int of_zero = -4096; // also together with the largest exponent

template <unsigned FractionBits, unsigned ExponentBits>
int exponent_of(std::uint32_t bits) {
  constexpr std::uint32_t magnitude = (1u << (FractionBits + ExponentBits)) - 1;
  if ((bits & magnitude) == 0) return of_zero;
  constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  const auto field = static_cast<int>(bits >> FractionBits & ((1u << ExponentBits) - 1));
  return std::max(field, 1) - bias;
}

Parts parts_of(Element element, std::uint64_t raw) {
  const auto bits = static_cast<std::uint32_t>(raw);
  switch (element) {
  case Element::half: {
    const auto half = static_cast<std::uint16_t>(bits);
    return {static_cast<double>(std::bit_cast<Half>(half)), exponent_of<10, 5>(bits)};
  }
  case Element::bfloat:
    return {std::bit_cast<float>(bits << 16), exponent_of<7, 8>(bits)};
  case Element::tensor_float: { // a float of which the lowest 13 bits are ignored
    constexpr std::uint32_t ignored = (1u << 13) - 1;
    return {std::bit_cast<float>(bits & ~ignored), exponent_of<23, 8>(bits & ~ignored)};
  }
  default:
    return {std::bit_cast<float>(bits), exponent_of<23, 8>(bits)};
  }
}

// The numbers of a matrix, and for each line whether all of them are finite.
struct Numbers {
  double value[MatrixOperands::most_factors];
  int exponent[MatrixOperands::most_factors];
  bool finite[std::max(most_rows, most_columns)];

  Numbers(Element element, const std::uint64_t* bits, unsigned lines, unsigned k) {
    for (unsigned line = 0; line < lines; ++line) {
      finite[line] = true;
      for (unsigned i = line * k; i < (line + 1) * k; ++i) {
        const Parts parts = parts_of(element, bits[i]);
        value[i] = parts.value, exponent[i] = parts.exponent;
        finite[line] &= std::isfinite(parts.value);
      }
    }
  }
};

double power_of_two(int exponent) {
  constexpr int bias = 1023, fraction_bits = 52;
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + bias) << fraction_bits);
}

// Terms keep this many bits below the largest exponent.
constexpr int kept_bits = 25;

double aligned_sum(const double* a, const int* a_exponent, const double* b, const int* b_exponent, unsigned k,
                   Parts c) {
  int largest = c.exponent;
  for (unsigned i = 0; i < k; ++i) largest = std::max(largest, a_exponent[i] + b_exponent[i]);
  if (largest < of_zero / 2) return 0;
  const double scale = power_of_two(kept_bits - largest);
  auto sum = static_cast<std::int64_t>(c.value * scale);
  for (unsigned i = 0; i < k; ++i) sum += static_cast<std::int64_t>(a[i] * b[i] * scale);
  return static_cast<double>(sum) * power_of_two(largest - kept_bits);
}

// With infinities or NaNs among the terms, only these matter.
double special_sum(const double* a, const double* b, unsigned k, double c) {
  for (unsigned i = 0; i < k; ++i) c += a[i] * b[i];
  return c;
}

std::uint32_t rounded_to_single(double sum) {
  constexpr std::uint32_t nan = 0x7fffffff;
  if (std::isnan(sum)) return nan;
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
  const bool is_too_far = std::fabs(static_cast<double>(std::bit_cast<float>(bits))) > std::fabs(sum);
  constexpr double beyond_largest = 0x1p128;
  if (is_too_far && std::fabs(sum) < beyond_largest) --bits; // towards zero, also from infinity
  return bits;
}

std::uint32_t rounded_to_half(double sum) {
  constexpr std::uint32_t nan = 0x7fff;
  if (std::isnan(sum)) return nan;
  const std::uint32_t bits = std::bit_cast<std::uint16_t>(Half(sum));
  return bits == 0x8000 ? 0 : bits; // the H100 rounds small negative sums to +0
}

void multiply_floats(const MatrixForm& form, MatrixOperands& of) {
  const Numbers a(form.a, of.a, form.m, form.k), b(form.b, of.b, form.n, form.k);
  for (unsigned row = 0; row < form.m; ++row)
    for (unsigned column = 0; column < form.n; ++column) {
      const unsigned at = row * form.n + column, in_a = row * form.k, in_b = column * form.k;
      const Parts c = parts_of(form.c, of.c[at]);
      const double sum =
          a.finite[row] && b.finite[column] && std::isfinite(c.value)
              ? aligned_sum(a.value + in_a, a.exponent + in_a, b.value + in_b, b.exponent + in_b, form.k, c)
              : special_sum(a.value + in_a, b.value + in_b, form.k, c.value);
      of.d[at] = form.d == Element::half ? rounded_to_half(sum) : rounded_to_single(sum);
    }
}

void multiply_doubles(const MatrixForm& form, MatrixOperands& of) {
  for (unsigned row = 0; row < form.m; ++row)
    for (unsigned column = 0; column < form.n; ++column) {
      auto sum = std::bit_cast<double>(of.c[row * form.n + column]);
      for (unsigned i = 0; i < form.k; ++i)
        sum = std::fma(std::bit_cast<double>(of.a[row * form.k + i]),
                       std::bit_cast<double>(of.b[column * form.k + i]), sum);
      of.d[row * form.n + column] = std::bit_cast<std::uint64_t>(sum);
    }
}

std::int64_t integer_of(Element element, std::uint64_t bits) {
  switch (element) {
  case Element::s8:
    return static_cast<std::int8_t>(bits);
  case Element::s4:
    return static_cast<std::int8_t>(bits << 4) >> 4;
  default:
    return static_cast<std::int64_t>(bits);
  }
}

void multiply_integers(const MatrixForm& form, MatrixOperands& of) {
  using Limits = std::numeric_limits<std::int32_t>;
  const auto product = [&](std::uint64_t a, std::uint64_t b) -> std::int64_t {
    if (form.a == Element::bit) return std::popcount(form.conjoins ? a & b : a ^ b);
    return integer_of(form.a, a) * integer_of(form.b, b);
  };
  for (unsigned row = 0; row < form.m; ++row)
    for (unsigned column = 0; column < form.n; ++column) {
      std::int64_t sum = static_cast<std::int32_t>(of.c[row * form.n + column]);
      for (unsigned i = 0; i < form.k; ++i) sum += product(of.a[row * form.k + i], of.b[column * form.k + i]);
      if (form.saturates) sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
      of.d[row * form.n + column] = static_cast<std::uint32_t>(sum);
    }
}

} // namespace

void multiply(const MatrixForm& form, MatrixOperands& operands) {
  if (form.d == Element::integer) return multiply_integers(form, operands);
  if (form.d == Element::real) return multiply_doubles(form, operands);
  multiply_floats(form, operands);
}

} // namespace warpfold::machine
