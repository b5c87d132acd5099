#include "arithmetic.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace warpfold::nccl {
namespace {

// Two of float's operations on halves give what the half's own would, because float has more than twice their
// bits and two more; so it is enough to round what float gives.
struct Half {
  std::uint16_t bits;

  float value() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) return std::copysign(std::ldexp(static_cast<float>(fraction), -24), sign ? -1.f : 1.f);
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  }
  static Half of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
    if (std::isnan(value)) return {0x7fff};
    const float magnitude = std::fabs(value);
    if (magnitude >= 65520.f) return {static_cast<std::uint16_t>(sign | 0x7c00u)}; // rounds past the largest
    if (magnitude < 0x1p-14f) // in units of the smallest half, of which the host rounds to a whole number
      return {
          static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24f)))};
    const std::uint32_t rest = std::bit_cast<std::uint32_t>(magnitude) - (112u << 23);
    return {static_cast<std::uint16_t>(sign | (rest + 0xfff + (rest >> 13 & 1)) >> 13)};
  }
};

struct Bfloat {
  std::uint16_t bits;

  float value() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  static Bfloat of(float value) {
    if (std::isnan(value)) return {0x7fff};
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
  }
};

template <typename T>
constexpr bool is_short = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

template <typename T>
T one(int op, T a, T b) {
  if constexpr (is_short<T>) {
    return T::of(one(op, a.value(), b.value()));
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
    case ncclProd:
      return a * b;
    case ncclMax:
      return std::fmax(a, b);
    case ncclMin:
      return std::fmin(a, b);
    default:
      return a + b;
    }
  } else {
    using Wrapping = std::conditional_t<sizeof(T) < 4, std::uint32_t, std::make_unsigned_t<T>>;
    switch (op) {
    case ncclProd:
      return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
    case ncclMax:
      return a > b ? a : b;
    case ncclMin:
      return a < b ? a : b;
    default:
      return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
    }
  }
}

template <typename T>
T divided(T value, int by) {
  if constexpr (is_short<T>)
    return T::of(value.value() / static_cast<float>(by));
  else
    return static_cast<T>(value / static_cast<T>(by));
}

// Calls body with a pointer of the type.
template <typename Body>
void with_type(int type, Body body) {
  switch (type) {
  case ncclInt8:
    return body(static_cast<std::int8_t*>(nullptr));
  case ncclUint8:
    return body(static_cast<std::uint8_t*>(nullptr));
  case ncclInt32:
    return body(static_cast<std::int32_t*>(nullptr));
  case ncclUint32:
    return body(static_cast<std::uint32_t*>(nullptr));
  case ncclInt64:
    return body(static_cast<std::int64_t*>(nullptr));
  case ncclUint64:
    return body(static_cast<std::uint64_t*>(nullptr));
  case ncclFloat16:
    return body(static_cast<Half*>(nullptr));
  case ncclFloat32:
    return body(static_cast<float*>(nullptr));
  case ncclFloat64:
    return body(static_cast<double*>(nullptr));
  case ncclBfloat16:
    return body(static_cast<Bfloat*>(nullptr));
  default:
    return;
  }
}

} // namespace

std::size_t size_of(int type) {
  std::size_t size = 0;
  with_type(type, [&](auto* typed) { size = sizeof *typed; });
  return size;
}

void scale(int type, const void* scalar, void* values, std::size_t count) {
  with_type(type, [&]<typename T>(T*) {
    T by;
    std::memcpy(&by, scalar, sizeof by);
    auto* all = static_cast<T*>(values);
    for (std::size_t i = 0; i < count; ++i) all[i] = one(ncclProd, all[i], by);
  });
}

void combine(int type, int op, void* into, const void* from, std::size_t count) {
  with_type(type, [&]<typename T>(T*) {
    auto* a = static_cast<T*>(into);
    const auto* b = static_cast<const T*>(from);
    for (std::size_t i = 0; i < count; ++i) a[i] = one(op, a[i], b[i]);
  });
}

void finish(int type, int op, int ranks, void* values, std::size_t count) {
  if (op != ncclAvg) return;
  with_type(type, [&]<typename T>(T*) {
    auto* all = static_cast<T*>(values);
    for (std::size_t i = 0; i < count; ++i) all[i] = divided(all[i], ranks);
  });
}

} // namespace warpfold::nccl
