#include "input/sequence.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>

namespace lab {
namespace {

// 2^23: the other half of 2^24 is for the poison. Integers have a larger budget, so that a float that adds
// them up loses some.
constexpr double exact_budget = 8388608, exact_budget_of_integers = 0x1p30;
constexpr std::size_t longest_without_period = std::size_t{1} << 22;
constexpr std::size_t long_period =
    1048573; // a prime, so that no block or tile meets the same values twice in a row

// SplitMix64: every bit of the result depends on every bit of the argument.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The nearest one, even where two are as near; a NaN stays one.
struct BFloat16 {
  BFloat16() = default;
  explicit BFloat16(double value) {
    const auto narrow = static_cast<float>(value);
    const auto all = std::bit_cast<std::uint32_t>(narrow);
    bits = std::isnan(narrow) ? 0x7fff : static_cast<std::uint16_t>((all + 0x7fff + (all >> 16 & 1)) >> 16);
  }
  explicit operator double() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  std::uint16_t bits = 0;
};

// Calls `use` with a number that is stored as the type's elements are.
template <typename Use>
auto as_stored(Type type, Use use) {
  switch (type) {
  case Type::float32:
    return use(float{});
  case Type::int32:
    return use(std::int32_t{});
  case Type::uint32:
    return use(std::uint32_t{});
  case Type::bfloat16:
    return use(BFloat16{});
  case Type::float64:
    break;
  }
  return use(double{});
}

bool is_float(Type type) {
  return type == Type::float32 || type == Type::float64 || type == Type::bfloat16;
}

// Magnitudes 1 to `largest`, neighbours different; a quarter negative where the type has signs. If the budget
// is less than one per value, most are 0.
class ExactSums {
public:
  ExactSums(Type type, std::size_t n, std::uint64_t seed) : type_(type), seed_(seed) {
    const double budget = is_float(type) ? exact_budget : exact_budget_of_integers;
    const double fair = budget / static_cast<double>(std::max<std::size_t>(n, 1));
    const double each = type == Type::bfloat16 ? std::min(fair, 256.0) : fair; // integers that it holds
    largest_ = each >= 2 ? static_cast<std::uint64_t>(std::min(each, is_float(type) ? 65536.0 : 0x1p28)) : 1;
    sparseness_ = each >= 1 ? 1 : static_cast<std::uint64_t>(std::ceil(2 / each));
  }
  double next(std::size_t i) {
    const std::uint64_t random = mix(seed_ ^ (i * 0x2545f4914f6cdd1du));
    if (sparseness_ > 1 && (random >> 40) % sparseness_ != 0) return 0;
    std::uint64_t magnitude = 1 + random % largest_;
    // Without branches, which nothing could predict.
    const std::uint64_t other = magnitude == largest_ ? 1 : magnitude + 1;
    magnitude = magnitude == previous_ ? other : magnitude;
    previous_ = magnitude;
    const auto negative = static_cast<std::int64_t>((random >> 60) < quarter_);
    return static_cast<double>((static_cast<std::int64_t>(magnitude) ^ -negative) + negative);
  }

private:
  Type type_;
  std::uint64_t seed_, largest_, sparseness_, previous_ = 0, quarter_ = type_ == Type::uint32 ? 0 : 4;
};

// For a maximum all values are negative, and for a minimum positive, so that 0 in place of the identity wins.
// (In uint32 a maximum's identity is 0.) The values use all digits of the type, so that a narrower type, or a
// signed one in place of an unsigned one, shows; one in eight is so near the one asked for that they are
// equal as floats.
double exact_extreme(Type type, Operator op, std::size_t i, std::uint64_t seed) {
  const std::uint64_t random = mix(seed ^ (i * 0x2545f4914f6cdd1du));
  const std::uint64_t most = type == Type::float32   ? 1000003
                             : type == Type::float64 ? std::uint64_t{1} << 50
                             : type == Type::int32   ? std::numeric_limits<std::int32_t>::max() - 5
                                                     : std::numeric_limits<std::uint32_t>::max() - 5;
  constexpr std::uint64_t near = 64;
  const std::uint64_t least = type == Type::float32 ? 5 : most / 4;
  const bool is_near = type != Type::float32 && (random >> 40) % 8 == 0;
  const std::uint64_t apart = random % (is_near ? near : most - least);
  const auto magnitude =
      static_cast<double>(op == Operator::max && type == Type::uint32 ? most - apart : least + apart);
  return op == Operator::max && type != Type::uint32 ? -magnitude : magnitude;
}

// Both signs, and the value of greatest magnitude is not the one asked for. Floats are below 1, so that a
// comparison of integers shows.
double mixed_sign(Type type, Operator op, std::size_t i, std::uint64_t seed) {
  const double magnitude = std::abs(exact_extreme(type, op, i, seed));
  const bool negative = mix(seed ^ (i * 0x2545f4914f6cdd1du + 1)) % 2 != 0;
  const bool on_the_side_asked_for = negative == (op == Operator::min);
  const double value = on_the_side_asked_for ? std::floor(magnitude / 2) : magnitude;
  const double below_one = value * (type == Type::float32 ? 0x1p-20 : type == Type::float64 ? 0x1p-50 : 1);
  return negative ? -below_one : below_one;
}

// Greater than 0, or less where the maximum is asked for.
double of_one_sign(Operator op, std::size_t i, std::uint64_t seed) {
  const double magnitude = 1.0 + static_cast<double>(mix(seed ^ (i * 0x2545f4914f6cdd1du)) % 1000);
  return op == Operator::max ? -magnitude : op == Operator::product ? 1 : magnitude;
}

// All bits set, except for one here and there.
double almost_all_bits(std::size_t i, std::size_t n, std::uint64_t seed) {
  const std::uint64_t random = mix(seed ^ (i * 0x2545f4914f6cdd1du));
  const bool clears = random % (n / 8 + 1) == 0;
  return static_cast<double>(clears ? ~(1u << (random >> 32) % 20) : ~0u);
}

// 4^12 * 3^6 in float, whose significand holds 3^6, 2^2 * 3^18 < 2^31 elsewhere, which is no float, and 2^6 *
// 3^18 > 2^32 of unsigned integers, which begin again at 0: so many factors at places spread over the input,
// a few signs, and ones. All are above 10^9.
double exact_factor(Type type, std::size_t i, std::size_t n, std::uint64_t seed) {
  const std::size_t spread = std::max<std::size_t>(n / 18, 1), turn = i / spread;
  const bool chosen = turn < 18 && i == turn * spread + mix(seed ^ turn) % spread;
  if (n == 257 && i == n / 2) return 0;
  if (chosen && type == Type::float32) return turn % 3 == 0 ? 3 : 4;
  if (chosen) return turn % 9 != 0 ? 3 : type == Type::uint32 ? 24 : 6;
  return type != Type::uint32 && mix(seed ^ (i * 0x2545f4914f6cdd1du)) % 5 == 0 ? -1 : 1;
}

// Magnitudes from 2^-8 to 2^8.
double spread_value(Type type, Operator op, std::size_t i, std::uint64_t seed) {
  const std::uint64_t random = mix(seed ^ (i * 0x2545f4914f6cdd1du));
  const double fraction = 1 + static_cast<double>(random >> 12) * 0x1p-52;
  const int exponent = op == Operator::product ? 0 : static_cast<int>(random % 17) - 8;
  const double scale = std::bit_cast<double>(std::uint64_t(1023 + exponent) << 52); // 2^exponent
  const double value = scale * (op == Operator::product ? 1 + (fraction - 1.5) * 0x1p-8 : fraction);
  const double sign = op != Operator::product && (random >> 9) % 2 ? -1 : 1;
  return type == Type::float32 ? static_cast<float>(sign * value) : sign * value;
}

// From 2^24 on a float cannot count by ones. The quarters are negative, and so is their sum: a compensation
// that compares magnitudes must do so whatever the sign.
double stalling_value(Kind kind, std::size_t i, std::size_t n) {
  // For a grid with n / 64 threads: each ends with a compensation of nearly half a digit.
  if (kind == Kind::excesses) return i < n / 64 ? 0x1p24 : i < n / 16 ? 0.25 : 0;
  if (kind == Kind::quarters) return i == 0 ? -0x1p24 : -0.25;
  if (i == 0) return 0x1p24;
  return kind == Kind::stalling || std::has_single_bit(i) ? 1 : 0;
}

// Every seventh element is large, so that a walk by any power of two meets some among its ones.
double cancelling_value(std::size_t i, std::size_t n) {
  constexpr std::size_t every = 7;
  const std::size_t turn = i / every, turns = ceil_div(n, every);
  if (i % every != 0 || (turn + 1 == turns && turns % 2 != 0)) return 1;
  return turn % 2 == 0 ? 0x1p30 : -0x1p30;
}

// A sum of two parts, precise to about twice a double's precision (Neumaier).
struct Compensated {
  double sum = 0, lost = 0;
  void add(double x) {
    const double t = sum + x;
    lost += std::abs(sum) >= std::abs(x) ? (sum - t) + x : (x - t) + sum;
    sum = t;
  }
  double value() const { return sum + lost; }
};

// Calls `use` with each of the elements from `first` up to, but not including, `last`.
template <typename Use>
void each_element(const Sequence& input, std::size_t first, std::size_t last, Use use) {
  as_stored(input.type, [&](auto number) {
    std::size_t at = first % input.period;
    for (std::size_t i = first; i < last; ++i) {
      std::memcpy(&number, input.values.data() + at * sizeof number, sizeof number);
      use(static_cast<double>(number));
      if (++at == input.period) at = 0;
    }
  });
}

Reference reduce_part(const Sequence& input, std::size_t first, std::size_t last) {
  if (input.op != Operator::add) {
    double value = identity(input.type, input.op);
    each_element(input, first, last, [&](double element) { value = apply(input.op, value, element); });
    return {value, std::abs(value)};
  }
  Compensated sum, magnitude;
  each_element(input, first, last, [&](double element) {
    sum.add(element);
    magnitude.add(std::abs(element));
  });
  return {sum.value(), magnitude.value()};
}

double power(Operator op, double value, double times) {
  if (op == Operator::add) return value * times;
  return op == Operator::product ? std::pow(value, times) : value;
}

} // namespace

std::string_view name_of(Type type) {
  constexpr std::string_view names[] = {"float", "double", "int32", "uint32", "bfloat16"};
  return names[static_cast<int>(type)];
}
std::string_view name_of(Operator op) {
  constexpr std::string_view names[] = {"add", "min", "max", "product", "bitwise and"};
  return names[static_cast<int>(op)];
}
std::string_view name_of(Kind kind) {
  constexpr std::string_view names[] = {"integers",
                                        "fractions",
                                        "ones upon 2^24",
                                        "minus quarters upon -2^24",
                                        "lone ones upon 2^24",
                                        "2^24 and quarters for each thread",
                                        "2^30 and -2^30 among ones",
                                        "both signs",
                                        "one zero, the others of one sign",
                                        "scores",
                                        "a special case in each row",
                                        "masked, all steps exact"};
  return names[static_cast<int>(kind)];
}

double unit_roundoff(Type type) {
  return type == Type::float32    ? 0x1p-24
         : type == Type::float64  ? 0x1p-53
         : type == Type::bfloat16 ? 0x1p-8
                                  : 0;
}

double load_value(Type type, const void* bytes) {
  return as_stored(type, [&](auto number) {
    std::memcpy(&number, bytes, sizeof number);
    return static_cast<double>(number);
  });
}

void store_value(Type type, double value, void* bytes) {
  as_stored(type, [&](auto number) {
    number = static_cast<decltype(number)>(value);
    std::memcpy(bytes, &number, sizeof number);
  });
}

double Sequence::operator[](std::size_t i) const {
  return load_value(type, values.data() + (i < period ? i : i % period) * size_of(type));
}

namespace {

// The last long sequences: a lab's rungs are tried with the same ones.
class Kept {
public:
  static const Sequence* find(const Sequence& wanted) {
    const auto is_it = [&](const Sequence& each) {
      return each.type == wanted.type && each.kind == wanted.kind && each.op == wanted.op &&
             each.n == wanted.n && each.seed == wanted.seed;
    };
    const auto found = std::ranges::find_if(kept, is_it);
    return found == kept.end() ? nullptr : &*found;
  }
  static Sequence keep(Sequence made) {
    constexpr std::size_t most = 8, long_enough = 1 << 16;
    if (made.period < long_enough) return made;
    if (kept.size() == most) kept.pop_front();
    return kept.emplace_back(std::move(made));
  }

private:
  static inline std::deque<Sequence> kept;
};

} // namespace

Sequence make_sequence(Type type, Operator op, Kind kind, std::size_t n, std::uint64_t seed) {
  Sequence sequence{type, kind, op, n, n, seed, {}};
  if (n > longest_without_period) sequence.period = long_period;
  if (!is_float(type) && kind != Kind::mixed_signs && kind != Kind::lone_zero) sequence.kind = Kind::exact;
  if (const Sequence* same = Kept::find(sequence)) return *same;
  std::vector<std::byte> values(sequence.period * size_of(type));
  ExactSums sums(type, n, seed);
  const auto element = [&](std::size_t i) {
    if (sequence.kind == Kind::rounding) return spread_value(type, op, i, seed);
    if (op == Operator::bitwise_and) return almost_all_bits(i, n, seed);
    if (sequence.kind == Kind::mixed_signs) return mixed_sign(type, op, i, seed);
    if (sequence.kind == Kind::lone_zero)
      return i == mix(seed) % sequence.period ? 0 : of_one_sign(op, i, seed);
    if (sequence.kind == Kind::cancelling) return cancelling_value(i, sequence.period);
    if (sequence.kind != Kind::exact) return stalling_value(sequence.kind, i, sequence.period);
    if (op == Operator::add) return sums.next(i);
    if (op != Operator::product) return exact_extreme(type, op, i, seed);
    // The product of a repeated period would grow without bound, so then only signs are used.
    const double factor = sequence.period == n     ? exact_factor(type, i, n, seed)
                          : mix(seed ^ i) % 5 != 0 ? 1
                                                   : -1;
    return type == Type::uint32 ? std::abs(factor) : factor;
  };
  as_stored(type, [&](auto number) {
    for (std::size_t i = 0; i < sequence.period; ++i) {
      number = static_cast<decltype(number)>(element(i));
      std::memcpy(values.data() + i * sizeof number, &number, sizeof number);
    }
  });
  sequence.values = std::move(values);
  return Kept::keep(sequence);
}

Sequence with_other_numbers(const Sequence& input) {
  return make_sequence(input.type, input.op, input.kind, input.n, input.seed + 1000003);
}

Sequence with_identities(Sequence input) {
  constexpr std::uint64_t one_in = 8;
  if (input.kind != Kind::exact) return input;
  std::byte* const values = input.values.to_change();
  for (std::size_t i = 0; i < input.period; ++i)
    if (mix(input.seed ^ i) % one_in == 0)
      store_value(input.type, identity(input.type, input.op), values + i * size_of(input.type));
  return input;
}

static Reference reduce_exactly(const Sequence& input, std::size_t first, std::size_t last) {
  last = std::min(last, input.n);
  if (first >= last) return {identity(input.type, input.op), 0};
  const std::size_t period = input.period;
  if (last - first < 2 * period) return reduce_part(input, first, last);
  // A head up to the start of a period, whole periods, and a tail.
  const std::size_t head = ceil_div(first, period) * period, tail = last / period * period;
  const std::size_t periods = (tail - head) / period;
  const double times = static_cast<double>(periods);
  const Reference before = reduce_part(input, first, head), after = reduce_part(input, tail, last);
  const Reference whole = reduce_part(input, 0, period);
  const double middle = power(input.op, whole.value, times);
  return {apply(input.op, apply(input.op, before.value, middle), after.value),
          before.magnitude + whole.magnitude * times + after.magnitude};
}

Reference reduce(const Sequence& input, std::size_t first, std::size_t last) {
  Reference reduced = reduce_exactly(input, first, last);
  if (input.type == Type::uint32 && input.op == Operator::product)
    reduced.value = std::fmod(reduced.value, 0x1p32);
  return reduced;
}

double identity(Type type, Operator op) {
  if (op == Operator::add) return 0;
  if (op == Operator::product) return 1;
  if (op == Operator::bitwise_and) return std::numeric_limits<std::uint32_t>::max();
  const bool least = op == Operator::max; // the identity of a maximum is the least value there is
  switch (type) {
  case Type::int32:
    return least ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int32_t>::max();
  case Type::uint32:
    return least ? 0 : std::numeric_limits<std::uint32_t>::max();
  default:
    return least ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
}

double apply(Operator op, double a, double b) {
  switch (op) {
  case Operator::add:
    return a + b;
  case Operator::product:
    return a * b;
  case Operator::min:
    return std::min(a, b);
  case Operator::max:
    return std::max(a, b);
  case Operator::bitwise_and:
    return static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b);
  }
  return a;
}

double tolerance(const Sequence& input, const Reference& reference, double depth) {
  const bool is_exact =
      input.kind == Kind::exact || input.kind == Kind::mixed_signs || input.kind == Kind::cancelling;
  if (is_exact || input.op == Operator::min || input.op == Operator::max) return 0;
  const double relative = depth * unit_roundoff(input.type);
  if (relative >= 1) return std::numeric_limits<double>::infinity();
  // One more unit round-off: the reference too is compared as a number of the type.
  return (relative / (1 - relative) + unit_roundoff(input.type)) * reference.magnitude;
}

double poison(Type type, Kind kind) {
  if (type == Type::bfloat16) return 0x1.56p22;
  if (kind == Kind::exact || kind >= Kind::mixed_signs) return 5592405;
  if (type == Type::int32) return -1;
  if (type == Type::uint32) return std::numeric_limits<std::uint32_t>::max();
  return std::numeric_limits<double>::quiet_NaN();
}

} // namespace lab
