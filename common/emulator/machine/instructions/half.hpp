// 16-bit floating-point values as they lie in registers.
#pragma once

#include "machine/soft_half.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace warpfold::machine {

// The compiler's name for a 16-bit floating-point type. GCC 12 knows _Float16 on x86-64, but not in C++ on
// 64-bit Arm; GCC 11 knows it on neither; every Arm compiler has __fp16. All of them round once, to nearest
// even.
#if defined(__aarch64__)
using HostHalf = __fp16;
#elif defined(__FLT16_MANT_DIG__)
using HostHalf = _Float16;
#else
using HostHalf = SoftHalf;
#endif

struct Half {
  HostHalf value;
  Half() = default;
  explicit Half(double x) : value(static_cast<HostHalf>(x)) {}
  explicit operator float() const { return static_cast<float>(value); }
  explicit operator double() const { return static_cast<double>(static_cast<float>(value)); }
};

// The upper half of a float.
struct BFloat {
  std::uint16_t bits;
  BFloat() = default;
  explicit BFloat(double x) : bits(round(x)) {}
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  explicit operator double() const { return static_cast<float>(*this); }

private:
  // Rounds a double only once: the first step rounds to float towards odd, so that the second step sees what
  // was lost.
  static std::uint16_t round(double x) {
    auto single = static_cast<float>(x);
    if (x != x) return 0x7fff;
    auto raw = std::bit_cast<std::uint32_t>(single);
    double back = single;
    if (back != x && !std::isinf(single)) {
      if (std::fabs(back) > std::fabs(x)) --raw;
      raw |= 1;
    }
    std::uint32_t rounded = raw + 0x7fff + (raw >> 16 & 1);
    return static_cast<std::uint16_t>(rounded >> 16);
  }
};

template <typename T>
struct Pair {
  T low, high;
};

} // namespace warpfold::machine
