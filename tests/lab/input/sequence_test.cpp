#include "input/sequence.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace lab {
namespace {

constexpr Type types[] = {Type::float32, Type::float64, Type::int32, Type::uint32};

class Exact : public testing::TestWithParam<std::size_t> {};

// Including the poison of the output, so that a result added to it stays exact too.
TEST_P(Exact, MagnitudesStayWithinWhatAFloatCountsExactly) {
  for (const Type type : types) {
    const Sequence input = make_sequence(type, Operator::add, Kind::exact, GetParam(), 1);
    const Reference whole = reduce(input, 0, input.n);
    const bool is_float = type == Type::float32 || type == Type::float64;
    EXPECT_LE(whole.magnitude + poison(type, Kind::exact), is_float ? 0x1p24 : 0x1p31);
  }
}

TEST(Integers, AddUpToWhatAFloatCannotCount) {
  for (const std::size_t n : {1, 33, 1000, 1 << 20}) {
    const Sequence input = make_sequence(Type::int32, Operator::add, Kind::exact, n, 1);
    float in_float = 0;
    for (std::size_t i = 0; i < n; ++i) in_float += static_cast<float>(input[i]);
    EXPECT_NE(in_float, reduce(input, 0, n).value) << n;
  }
}

TEST_P(Exact, AnyOrderOfFloatAdditionsGivesTheSameBits) {
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, GetParam(), 1);
  if (input.n > (1u << 22)) GTEST_SKIP() << "the same, but takes seconds";
  float forwards = 0, backwards = 0;
  for (std::size_t i = 0; i < input.n; ++i) {
    forwards += static_cast<float>(input[i]);
    backwards += static_cast<float>(input[input.n - 1 - i]);
  }
  EXPECT_EQ(forwards, backwards);
  EXPECT_EQ(forwards, reduce(input, 0, input.n).value);
}

TEST_P(Exact, NeighboursDifferAndNoneIsZeroWhileTheBudgetAllows) {
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, GetParam(), 1);
  if (input.n > (1u << 21)) GTEST_SKIP() << "no longer affordable: most are 0";
  for (std::size_t i = 0; i < input.n; ++i) {
    ASSERT_NE(input[i], 0) << i;
    if (i > 0) {
      ASSERT_NE(input[i], input[i - 1]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Exact,
                         testing::Values(0, 1, 31, 257, 999983, 1u << 20, std::size_t{1} << 29));

TEST(Sequence, TheSameSeedGivesTheSameAndAnotherSeedAnother) {
  const auto values = [](std::uint64_t seed) {
    return make_sequence(Type::float32, Operator::add, Kind::exact, 1000, seed).values;
  };
  EXPECT_EQ(values(1), values(1));
  EXPECT_NE(values(1), values(2));
}

TEST(Sequence, PartsOfALongInputAddUpToTheWhole) {
  const std::size_t n = (std::size_t{1} << 23) + 12345;
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, n, 1);
  ASSERT_LT(input.period, n);
  double one_by_one = 0;
  for (std::size_t i = 0; i < n; ++i) one_by_one += input[i];
  EXPECT_EQ(reduce(input, 0, n).value, one_by_one);
  EXPECT_EQ(reduce(input, 0, 777).value + reduce(input, 777, n).value, one_by_one);
  EXPECT_NE(one_by_one, 0);
}

TEST(Sequence, ZeroInPlaceOfTheIdentityShowsInExtremes) {
  const Sequence below = make_sequence(Type::float32, Operator::max, Kind::exact, 1000, 1);
  const Sequence above = make_sequence(Type::int32, Operator::min, Kind::exact, 1000, 1);
  EXPECT_LT(reduce(below, 0, 1000).value, 0);
  EXPECT_GT(reduce(above, 0, 1000).value, 0);
}

TEST(Sequence, ExtremesFillTheTypesDigits) {
  const Sequence whole = make_sequence(Type::int32, Operator::min, Kind::exact, 1000, 1);
  const Sequence without_sign = make_sequence(Type::uint32, Operator::max, Kind::exact, 1000, 1);
  const Sequence fine = make_sequence(Type::float64, Operator::max, Kind::exact, 1000, 1);
  int through_float = 0, through_int = 0, through_single = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    through_float += static_cast<float>(whole[i]) == whole[i];
    through_int += without_sign[i] <= std::numeric_limits<std::int32_t>::max();
    through_single += static_cast<float>(fine[i]) == fine[i];
  }
  EXPECT_LT(through_float, 100);
  EXPECT_LT(through_int, 600);
  EXPECT_LT(through_single, 10);
}

TEST(Sequence, WithBothSignsTheGreatestMagnitudeIsNeitherMinimumNorMaximum) {
  for (const Type type : {Type::float32, Type::float64, Type::int32}) {
    for (const Operator op : {Operator::min, Operator::max}) {
      const Sequence input = make_sequence(type, op, Kind::mixed_signs, 1000, 1);
      double by_magnitude = input[0], least = input[0];
      for (std::size_t i = 0; i < input.n; ++i) {
        if (std::abs(input[i]) > std::abs(by_magnitude)) by_magnitude = input[i];
        if (std::abs(input[i]) < std::abs(least)) least = input[i];
      }
      EXPECT_NE(reduce(input, 0, input.n).value, by_magnitude);
      EXPECT_NE(reduce(input, 0, input.n).value, least);
    }
  }
}

TEST(Sequence, OneZeroIsTheResult) {
  for (const Operator op : {Operator::min, Operator::max, Operator::product}) {
    const Sequence input = make_sequence(Type::int32, op, Kind::lone_zero, 1000, 1);
    int zeros = 0;
    for (std::size_t i = 0; i < input.n; ++i) zeros += input[i] == 0;
    EXPECT_EQ(zeros, 1);
    EXPECT_EQ(reduce(input, 0, input.n).value, 0);
  }
}

TEST(Sequence, BitwiseAndHasBitsLeftAndLosesSome) {
  const Sequence input = make_sequence(Type::uint32, Operator::bitwise_and, Kind::exact, 1000, 1);
  const double all = reduce(input, 0, input.n).value;
  EXPECT_GT(all, 0);
  EXPECT_LT(all, identity(Type::uint32, Operator::bitwise_and));
}

TEST(Sequence, LoneOnesAreLostAtEveryLevelOfATree) {
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::lone_ones, 65536, 1);
  std::vector<float> values;
  for (std::size_t i = 0; i < input.n; ++i) values.push_back(static_cast<float>(input[i]));
  for (std::size_t stride = input.n / 2; stride > 0; stride /= 2) {
    for (std::size_t i = 0; i < stride; ++i) values[i] += values[i + stride];
  }
  EXPECT_EQ(reduce(input, 0, input.n).value, 0x1p24 + 16);
  EXPECT_EQ(values[0], 0x1p24f);
}

TEST(Sequence, CancellingIsExactInDoubleAndNotInFloat) {
  for (const unsigned n : {1u, 2u, 7u, 8u, 1000u, 65536u}) {
    const Sequence input = make_sequence(Type::float32, Operator::add, Kind::cancelling, n, 1);
    double forwards = 0, backwards = 0, large = 0, by_threads = 0;
    constexpr std::size_t threads = 256;
    for (std::size_t i = 0; i < n; ++i) {
      forwards += input[i];
      backwards += input[n - 1 - i];
      large += std::abs(input[i]) > 1;
    }
    for (std::size_t t = 0; t < threads; ++t) {
      double own = 0;
      for (std::size_t i = t; i < n; i += threads) own += input[i];
      by_threads += static_cast<float>(own); // what is not meant
    }
    const double whole = reduce(input, 0, n).value;
    EXPECT_EQ(whole, static_cast<double>(n) - large);
    EXPECT_EQ(forwards, whole);
    EXPECT_EQ(backwards, whole);
    EXPECT_EQ(static_cast<float>(whole), whole);
    EXPECT_EQ(tolerance(input, reduce(input, 0, n), 100), 0);
    EXPECT_EQ(by_threads == whole, n <= threads); // whoever has one element only has nothing to round
  }
}

TEST(Sequence, OneFloatStallsWhereATreeDoesNot) {
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::stalling, 65537, 1);
  const Reference reference = reduce(input, 0, input.n);
  float loop = 0, in_chunks = static_cast<float>(input[0]);
  for (std::size_t i = 0; i < input.n; ++i) loop += static_cast<float>(input[i]);
  for (std::size_t first = 1; first < input.n; first += 256) {
    float chunk = 0;
    for (std::size_t i = first; i < std::min(first + 256, input.n); ++i)
      chunk += static_cast<float>(input[i]);
    in_chunks += chunk;
  }
  EXPECT_EQ(loop, 0x1p24f);
  EXPECT_LE(std::abs(loop - reference.value), tolerance(input, reference, 65536));
  EXPECT_GT(std::abs(loop - reference.value), 100 * tolerance(input, reference, 24));
  EXPECT_LE(std::abs(in_chunks - reference.value), tolerance(input, reference, 24));
}

TEST(Sequence, NothingReducesToTheIdentity) {
  for (const Operator op : {Operator::add, Operator::min, Operator::max, Operator::product}) {
    const Sequence input = make_sequence(Type::int32, op, Kind::exact, 0, 1);
    EXPECT_EQ(reduce(input, 0, 0).value, identity(Type::int32, op));
  }
  EXPECT_EQ(identity(Type::int32, Operator::max), -2147483648.0);
  EXPECT_EQ(identity(Type::uint32, Operator::min), 4294967295.0);
}

TEST(Sequence, ProductsStayExact) {
  for (const std::size_t n : {1u, 20u, 1000u, 999983u}) {
    const Sequence input = make_sequence(Type::float32, Operator::product, Kind::exact, n, 1);
    float product = 1;
    for (std::size_t i = 0; i < n; ++i) product *= static_cast<float>(input[i]);
    EXPECT_EQ(product, reduce(input, 0, n).value);
    float backwards = 1;
    for (std::size_t i = n; i-- > 0;) backwards *= static_cast<float>(input[i]);
    EXPECT_EQ(product, backwards);
    EXPECT_EQ(std::remainder(729 * 0x1p24F, product), 0); // it divides 3^6 * 4^12
    if (n >= 20) {
      EXPECT_GT(std::abs(product), 1e9F);
    }
  }
}

TEST(Sequence, OtherTypesAreNoFloats) {
  constexpr std::size_t n = 1000;
  for (const Type type : {Type::float64, Type::int32, Type::uint32}) {
    const double product = reduce(make_sequence(type, Operator::product, Kind::exact, n, 1), 0, n).value;
    EXPECT_NE(static_cast<float>(product), product) << name_of(type);
    EXPECT_LT(std::abs(product), type == Type::uint32 ? 0x1p32 : 0x1p31) << name_of(type);
    for (const Operator op : {Operator::min, Operator::max}) {
      const Sequence input = make_sequence(type, op, Kind::exact, n, 1);
      const double extreme = reduce(input, 0, n).value;
      bool another_is_equal_as_float = false;
      for (std::size_t i = 0; i < n; ++i)
        another_is_equal_as_float |=
            input[i] != extreme && static_cast<float>(input[i]) == static_cast<float>(extreme);
      EXPECT_TRUE(another_is_equal_as_float) << name_of(type);
    }
  }
}

TEST(Tolerance, HoldsForAFloatLoopAndNotForALostElement) {
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::rounding, 999983, 1);
  float sum = 0;
  for (std::size_t i = 0; i < input.n; ++i) sum += static_cast<float>(input[i]);
  const Reference reference = reduce(input, 0, input.n);
  const double error = std::abs(sum - reference.value);
  EXPECT_GT(error, 0);
  EXPECT_LE(error, tolerance(input, reference, static_cast<double>(input.n - 1)));
  // A tree's bound is far smaller: log2 of n additions.
  EXPECT_LT(tolerance(input, reference, 20) * 1000, tolerance(input, reference, 999982));
}

TEST(Tolerance, IsZeroForExactInputsAndIntegers) {
  const Sequence exact = make_sequence(Type::float32, Operator::add, Kind::exact, 1000, 1);
  EXPECT_EQ(tolerance(exact, reduce(exact, 0, 1000), 999), 0);
  const Sequence whole = make_sequence(Type::int32, Operator::add, Kind::rounding, 1000, 1);
  EXPECT_EQ(tolerance(whole, reduce(whole, 0, 1000), 999), 0);
}

TEST(Tolerance, CompensatedReferenceKeepsWhatADoubleLoopLoses) {
  Sequence input{Type::float64, Kind::rounding, Operator::add, 4, 4, 1, std::vector<std::byte>(32)};
  const double values[] = {1e16, 1, -1e16, 1};
  std::memcpy(input.values.to_change(), values, sizeof values);
  EXPECT_EQ(reduce(input, 0, 4).value, 2);
}

} // namespace
} // namespace lab
