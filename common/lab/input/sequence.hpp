// The inputs that rungs are checked with, and what they reduce to.
//
// Exact inputs: integers chosen so that the sum of magnitudes, the poison of the outputs included, stays
// below 2^24. Every partial sum in every order is therefore exact in float, and the result must be equal to
// the bit. Sums of integer types stay below 2^31 but exceed 2^24, so that a sum in float would be inexact.
// Neighbours differ as long as that budget allows it, so that a lost, doubled or swapped element shows.
// Rounding inputs: values spread over magnitudes; the result may differ by what its order of summation
// explains. Stalling inputs: 2^24 and then ones, n <= 2^22. One float that adds them up in order stays at
// 2^24. Quarters: -2^24 and then minus quarters. What one addition loses is a small part of the distance to
// the next float, so a compensation that forgets its earlier losses shows. Lone ones: 2^24, a one at each
// power of two, and zeros. Every level of a tree of floats adds a single one to 2^24 and loses it, which is
// the most that a level can lose. Cancelling: ones, and now and then 2^30 or -2^30, as many of each. Every
// sum of these in double is exact, and so is the whole in float, but next to no other sum is: rounding
// one to float on the way gives a wrong result, and there is no bound to hide in. Both signs: for a minimum
// or maximum of signed numbers, so that a minimum or maximum of magnitudes shows. The last three are for
// functions of rows (row_inputs.hpp).
#pragma once

#include "promises/rung.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace lab {

enum class Kind {
  exact,
  rounding,
  stalling,
  quarters,
  lone_ones,
  excesses,
  cancelling,
  mixed_signs,
  lone_zero,
  scores,
  special_rows,
  masked
};

constexpr std::size_t size_of(Type type) {
  return type == Type::float64 ? 8 : type == Type::bfloat16 ? 2 : 4;
}
std::string_view name_of(Type type);
std::string_view name_of(Operator op);
std::string_view name_of(Kind kind);
// Half the distance from 1 to the next number: the relative error of one operation. 0 for integers.
double unit_roundoff(Type type);

// Bytes that copies share until one of them is changed.
class SharedBytes {
public:
  SharedBytes() = default;
  SharedBytes(std::vector<std::byte> bytes)
      : bytes_(std::make_shared<std::vector<std::byte>>(std::move(bytes))) {}
  const std::byte* data() const { return bytes_->data(); }
  std::size_t size() const { return bytes_->size(); }
  const std::byte* begin() const { return data(); }
  const std::byte* end() const { return data() + size(); }
  const std::byte& operator[](std::size_t i) const { return (*bytes_)[i]; }
  bool operator==(const SharedBytes& other) const { return *bytes_ == *other.bytes_; }
  std::byte* to_change() {
    if (bytes_.use_count() > 1) bytes_ = std::make_shared<std::vector<std::byte>>(*bytes_);
    return bytes_->data();
  }

private:
  std::shared_ptr<std::vector<std::byte>> bytes_ = std::make_shared<std::vector<std::byte>>();
};

// n values: `period` of them, then the same again and again. Stored as the type's own bytes.
struct Sequence {
  Type type{};
  Kind kind{};
  Operator op{};
  std::size_t n = 0, period = 0;
  std::uint64_t seed = 0;
  SharedBytes values;

  double operator[](std::size_t i) const; // element i < n, exactly
};

Sequence make_sequence(Type type, Operator op, Kind kind, std::size_t n, std::uint64_t seed);
// As many numbers of the same kind, but others.
Sequence with_other_numbers(const Sequence& input);
// The same, but of exact inputs about one number in eight is the operator's identity.
Sequence with_identities(Sequence input);

// n elements, in rows, that are 0 except for these parts, each from its own place on.
struct SparseInput {
  struct Part {
    std::size_t place = 0;
    Sequence numbers;
  };
  std::size_t n = 0, rows = 1;
  unsigned block = 0;
  std::vector<Part> parts;
};

// What the elements from `first` up to, but not including, `last` (and below n) reduce to.
struct Reference {
  double value = 0;     // exact for exact inputs; else compensated, good to about 2^-100 of the magnitude
  double magnitude = 0; // sum of magnitudes
};
Reference reduce(const Sequence& input, std::size_t first, std::size_t last);

double identity(Type type, Operator op);
double apply(Operator op, double a, double b);

// How far a sum of `input` may be from the reference when no element went through more than `depth`
// additions.
double tolerance(const Sequence& input, const Reference& reference, double depth);

// The value of one element of `type` at `bytes`, and back.
double load_value(Type type, const void* bytes);
void store_value(Type type, double value, void* bytes);

// What outputs are filled with before a launch: for exact inputs a number that keeps sums exact, so that a
// result that was added to it is recognised; for rounding inputs a NaN (in integer types: all bits set).
double poison(Type type, Kind kind);

} // namespace lab
