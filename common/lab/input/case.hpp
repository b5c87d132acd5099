// The input of a run: what kind of numbers, how many, how they lie, and what runs on them.
#pragma once

#include "input/sequence.hpp"

#include <optional>
#include <string>

namespace lab {

// Threads per block unless something else is asked for or tried.
inline constexpr unsigned usual_block = 256;

// The input of a run.
struct Case {
  Kind kind = Kind::exact;
  std::size_t n = 0, rows = 1;
  unsigned block = usual_block;
  std::size_t offset = 0; // elements that the input starts after an aligned address
  unsigned devices = 1;   // that share the input
  unsigned in_a_row = 1;  // sums, between which the host does not wait; only over devices
};

// The first element of device k's part, and of no device's if k is `devices`. The parts differ by one element
// at most; where there are fewer elements than devices, the first parts are among the empty ones.
inline std::size_t first_of_part(std::size_t n, unsigned devices, unsigned k) {
  return n / devices * k + n % devices * k / devices;
}

std::string describe(const Case& given);
// "n = 1024", or "32 rows of 64".
std::string describe(std::size_t n, std::size_t rows);

// How many results the variant makes.
inline std::size_t results_of(const Variant& variant, const Case& given) {
  return variant.maps_rows ? given.n : given.rows;
}

// Rows of a matrix of about n elements: as many as asked for, or about as many as columns. 1 if the variant
// sums a single array.
std::size_t rows_for(const Variant& variant, std::size_t n, std::optional<std::size_t> asked);

} // namespace lab
