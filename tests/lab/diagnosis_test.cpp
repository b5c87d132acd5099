// Each mistake is made on the CPU, on inputs that the checks use, and must be named; what nobody has heard of
// must not.
#include "diagnosis.hpp"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace lab {
namespace {

using Wrong = std::function<double(const Sequence&)>;

Diagnosis diagnosis_of(const Wrong& wrong, std::size_t n = 5000, Type type = Type::float32,
                       Operator op = Operator::add) {
  const Sequence first = make_sequence(type, op, Kind::exact, n, 1),
                 second = make_sequence(type, op, Kind::exact, n, 99);
  Symptom symptom{{Kind::exact, n, 1, 256, 0}, 64, {}, {}};
  for (const Sequence* input : {&first, &second}) {
    symptom.observations.push_back({input, reduce(*input, 0, n).value, wrong(*input)});
  }
  return diagnose(symptom);
}

std::string kind_of(const Wrong& wrong, std::size_t n = 5000) {
  return diagnosis_of(wrong, n).kind;
}

// The sum of the elements that `kept` keeps.
Wrong only(std::function<bool(std::size_t)> kept) {
  return [kept = std::move(kept)](const Sequence& input) {
    double sum = 0;
    for (std::size_t i = 0; i < input.n; ++i) {
      if (kept(i)) sum += input[i];
    }
    return sum;
  };
}

double right(const Sequence& input) {
  return reduce(input, 0, input.n).value;
}

TEST(Diagnosis, OfTheResultAsAWhole) {
  EXPECT_EQ(kind_of([](const Sequence& s) { return poison(s.type, Kind::exact); }), "never-written");
  EXPECT_EQ(kind_of([](const Sequence& s) { return right(s) + poison(s.type, Kind::exact); }),
            "added-to-old");
  EXPECT_EQ(kind_of([](const Sequence& s) { return 2 * right(s); }), "twice");
  EXPECT_EQ(kind_of([](const Sequence& s) { return 32 * right(s); }), "many-times");
  EXPECT_EQ(kind_of([](const Sequence& s) { return 256 * right(s); }), "many-times");
  EXPECT_EQ(kind_of([](const Sequence&) { return 0.0; }), "nothing-added");
}

TEST(Diagnosis, OfALostTailSaysWhatIsMissing) {
  const Diagnosis found = diagnosis_of(only([](std::size_t i) { return i < 4864; })); // 19 blocks of 256
  EXPECT_EQ(found.kind, "lost-tail");
  EXPECT_NE(found.text.find("first 4864 elements (19 times 256)"), std::string::npos) << found.text;
  EXPECT_NE(found.text.find("the last 136,"), std::string::npos) << found.text;
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i < 4999; })), "lost-tail");
}

TEST(Diagnosis, OfPartsThatNeverArrive) {
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i < 256; })), "only-block-0");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i < 512; })), "only-block-0");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i / 256 == 7; })), "overwritten");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i < 16384; }), 100003), "only-first-pass");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i % 256 < 224; })), "last-warp-lost");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i % 256 < 32; })), "only-first-warp");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i % 256 < 64; })), "stale-second-stage");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i % 32 == 0; })), "only-first-lanes");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i % 256 == 0; })), "only-first-threads");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i % 256 != 255; })), "lost-thread");
  EXPECT_EQ(kind_of([](const Sequence& s) { return 20 * reduce(s, 0, 256).value; }), "same-part");
}

TEST(Diagnosis, OfAMissingStepNamesItsStride) {
  for (const unsigned stride : {1u, 2u, 16u, 32u, 128u}) {
    const Diagnosis found = diagnosis_of(only([stride](std::size_t i) { return (i & stride) == 0; }));
    EXPECT_EQ(found.kind, "lost-step");
    EXPECT_NE(found.text.find("stride " + std::to_string(stride) + " "), std::string::npos) << found.text;
  }
  EXPECT_EQ(kind_of(only([](std::size_t i) { return (i & 256) == 0; })), "lost-step");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return (i & 3) == 0; })), "lost-step");
}

TEST(Diagnosis, OfOneElement) {
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i != 77; }), 257), "missing-element");
  EXPECT_EQ(kind_of([](const Sequence& s) { return right(s) + s[13]; }, 257), "doubled-element");
}

TEST(Diagnosis, OfTheWrongIdentity) {
  EXPECT_EQ(kind_of([](const Sequence& s) { return right(s) + 120; }), "wrong-identity"); // 20 * 256 - 5000
  const auto zero = [](const Sequence&) { return 0.0; };
  EXPECT_EQ(diagnosis_of(zero, 1000, Type::float32, Operator::max).kind, "wrong-identity");
  EXPECT_EQ(diagnosis_of(zero, 1000, Type::int32, Operator::min).kind, "wrong-identity");
  EXPECT_EQ(diagnosis_of(zero, 1000, Type::float32, Operator::product).kind, "wrong-identity");
}

TEST(Diagnosis, OfWhatNumbersCannotHold) {
  EXPECT_EQ(diagnosis_of([](const Sequence& s) { return right(s) - 0x1p32; }, 1000, Type::int32).kind,
            "integer-overflow");
  EXPECT_EQ(kind_of([](const Sequence&) { return std::numeric_limits<double>::quiet_NaN(); }),
            "not-a-number");
  Sequence ones{Type::float32, Kind::exact, Operator::add, 1u << 25, 1, 1, std::vector<std::byte>(4)};
  store_value(Type::float32, 1, ones.values.data());
  EXPECT_EQ(diagnose({{Kind::exact, ones.n, 1, 256, 0}, 64, {{&ones, 0x1p25, 0x1p24}}, {}}).kind,
            "float-saturation");
}

TEST(Diagnosis, OfRunsThatDiffer) {
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, 1000, 1);
  const double sum = right(input);
  EXPECT_EQ(diagnose({{Kind::exact, 1000, 1, 256, 0}, 64, {{&input, sum, sum - 5}}, {sum - 9, sum}}).kind,
            "different-each-run");
}

TEST(Diagnosis, OfAnythingElseSaysNothing) {
  EXPECT_EQ(kind_of([](const Sequence& s) { return right(s) + 17; }), "");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i % 7 != 3; })), "");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i < 3333; })), "");
}

// What fits one input by chance does not fit the other.
TEST(Diagnosis, IsNotMadeFromOneInputAlone) {
  const Sequence first = make_sequence(Type::float32, Operator::add, Kind::exact, 5000, 1);
  const Sequence second = make_sequence(Type::float32, Operator::add, Kind::exact, 5000, 99);
  const Symptom symptom{
      {Kind::exact, 5000, 1, 256, 0},
      64,
      {{&first, right(first), reduce(first, 0, 4864).value}, {&second, right(second), 12345.0}},
      {}};
  EXPECT_EQ(diagnose(symptom).kind, "");
}

TEST(Diagnosis, TheMostTellingIsSpecificUsualAndOfAHandySize) {
  const auto check = [](const char* kind, bool specific, bool usual, std::size_t n) {
    Check made;
    made.n = n, made.usual = usual, made.diagnosis = {kind, "", specific};
    return made;
  };
  const std::vector<Check> checks{check("", false, true, 1000),
                                  check("only-block-0", true, true, 257),
                                  check("nothing-added", false, true, 1000),
                                  check("lost-tail", true, true, 1000),
                                  check("lost-step", true, true, 999983),
                                  check("twice", true, false, 1000)};
  ASSERT_NE(most_telling(checks), nullptr);
  EXPECT_EQ(most_telling(checks)->diagnosis.kind, "lost-tail");
  EXPECT_EQ(most_telling({}), nullptr);
}

// A wrong sum beyond what a float counts exactly varies with the order of its additions.
TEST(Diagnosis, RoundingIsNoRace) {
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, 1000, 1);
  const Symptom symptom{{Kind::exact, 1000, 1, 256, 0}, 64, {{&input, right(input), 50000000}}, {50000004}};
  EXPECT_EQ(diagnose(symptom).kind, "");
}

Diagnosis of_extremes(Operator op, Type type, double got) {
  return diagnosis_of([got](const Sequence&) { return got; }, 1000, type, op);
}

TEST(Diagnosis, OfMinimaMaximaAndProducts) {
  EXPECT_EQ(of_extremes(Operator::max, Type::int32, 0).kind, "wrong-identity");
  EXPECT_EQ(of_extremes(Operator::product, Type::float32, 0).kind, "wrong-identity");
  EXPECT_EQ(of_extremes(Operator::min, Type::float32, poison(Type::float32, Kind::exact)).kind,
            "never-written");
  const Diagnosis smallest = of_extremes(Operator::max, Type::float64, std::numeric_limits<double>::min());
  EXPECT_EQ(smallest.kind, "wrong-identity");
  EXPECT_NE(smallest.text.find("numeric_limits<double>::min()"), std::string::npos) << smallest.text;
  EXPECT_EQ(of_extremes(Operator::max, Type::int32, -17).kind, "");
}

} // namespace
} // namespace lab
