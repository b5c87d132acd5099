// binary16 by integer arithmetic (IEEE 754-2019, 3.4), for compilers that have no such type.
#pragma once

#include <bit>
#include <cstdint>

namespace warpfold::machine {

class SoftHalf {
public:
  SoftHalf() = default;
  constexpr explicit SoftHalf(double x) : bits_(rounded(std::bit_cast<std::uint64_t>(x))) {}
  constexpr explicit operator float() const { return std::bit_cast<float>(widened(bits_)); }

private:
  // To nearest, ties to even; NaNs stay quiet ones with the upper bits of their payload.
  static constexpr std::uint16_t rounded(std::uint64_t from) {
    const auto sign = static_cast<std::uint16_t>(from >> 48 & 0x8000);
    const auto exponent = static_cast<int>(from >> 52 & 0x7ff) - 1023;
    const std::uint64_t fraction = from & 0xfffffffffffff;
    if (exponent == 1024 && fraction) return sign | 0x7e00 | static_cast<std::uint16_t>(fraction >> 42);
    if (exponent > 15) return sign | 0x7c00;
    if (exponent < -25) return sign; // less than half of the smallest number
    // The significand in units of the last place that is kept, and the part that is cut off below it.
    const unsigned cut = exponent < -14 ? static_cast<unsigned>(28 - exponent) : 42;
    const std::uint64_t significand = fraction | 1ull << 52, half = 1ull << (cut - 1);
    const std::uint64_t kept = significand >> cut, lost = significand & (2 * half - 1);
    const std::uint64_t up = lost > half || (lost == half && kept & 1) ? 1 : 0;
    // A carry out of the fraction goes into the exponent, where it belongs.
    const std::uint64_t below = exponent < -14 ? 0 : static_cast<std::uint64_t>(exponent + 14) << 10;
    return sign | static_cast<std::uint16_t>(below + kept + up);
  }

  static constexpr std::uint32_t widened(std::uint16_t from) {
    const std::uint32_t sign = static_cast<std::uint32_t>(from & 0x8000) << 16;
    const std::uint32_t exponent = from >> 10 & 31, fraction = from & 0x3ff;
    if (exponent == 31) return sign | 0x7f800000 | (fraction ? 0x400000 | fraction << 13 : 0);
    if (exponent) return sign | (exponent + 112) << 23 | fraction << 13;
    if (!fraction) return sign;
    const auto shift = static_cast<unsigned>(std::countl_zero(fraction)) - 21; // the leading one to bit 10
    return sign | (113 - shift) << 23 | (fraction << shift & 0x3ff) << 13;
  }

  std::uint16_t bits_;
};

} // namespace warpfold::machine
