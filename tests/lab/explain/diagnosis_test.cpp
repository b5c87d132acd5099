// Each mistake is made on the CPU, on inputs that the checks use, and must be named; unknown mistakes must
// not.
#include "explain/diagnosis.hpp"

#include <algorithm>
#include <bit>
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

TEST(Diagnosis, OfDoublesThatWentThroughAFloat) {
  const auto kind_for = [](Type type, double rounding) {
    const Sequence first = make_sequence(type, Operator::add, Kind::rounding, 1000, 1),
                   second = make_sequence(type, Operator::add, Kind::rounding, 1000, 99);
    Symptom symptom{{Kind::rounding, 1000, 1, 256, 0}, 64, {}, {}};
    for (const Sequence* input : {&first, &second})
      symptom.observations.push_back({input, right(*input), right(*input) * (1 + rounding)});
    return diagnose(symptom).kind;
  };
  EXPECT_EQ(kind_for(Type::float64, 0x1p-23), "float-digits");
  EXPECT_EQ(kind_for(Type::float64, 0x1p-45), "");
  EXPECT_EQ(kind_for(Type::float64, 0x1p-5), "");
  EXPECT_EQ(kind_for(Type::float32, 0x1p-23), "");
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

// A prediction that fits one input by chance does not fit the other.
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

// A wrong sum beyond what a float represents exactly varies with the order of its additions.
TEST(Diagnosis, RoundingIsNoRace) {
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, 1000, 1);
  const Symptom symptom{{Kind::exact, 1000, 1, 256, 0}, 64, {{&input, right(input), 50000000}}, {50000004}};
  EXPECT_EQ(diagnose(symptom).kind, "");
}

// 1000 elements on 4 devices: the third has elements 500 to 749.
TEST(Diagnosis, OfADevicesShard) {
  const Case given{Kind::exact, 1000, 1, 256, 0, 4};
  const auto seen = [&](auto made) {
    const Sequence one = make_sequence(Type::float32, Operator::add, Kind::exact, 1000, 1);
    const Sequence other = make_sequence(Type::float32, Operator::add, Kind::exact, 1000, 2);
    return diagnose({given, 64, {{&one, right(one), made(one)}, {&other, right(other), made(other)}}, {}});
  };
  const Diagnosis missing = seen([](const Sequence& s) { return right(s) - reduce(s, 500, 750).value; });
  EXPECT_EQ(missing.kind, "missing-device");
  EXPECT_NE(missing.text.find("device 2's shard is missing: elements 500 to 749"), std::string::npos)
      << missing.text;
  EXPECT_EQ(seen([](const Sequence& s) { return reduce(s, 500, 750).value; }).kind, "only-device");
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
  EXPECT_EQ(of_extremes(Operator::max, Type::int32, -17).kind, "wrong-identity");
  const auto beside = [](const Sequence& s) { return right(s) - 17; };
  EXPECT_EQ(diagnosis_of(beside, 1000, Type::int32, Operator::max).kind, "");
}

TEST(Diagnosis, OfAnOperatorsStart) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(of_extremes(Operator::max, Type::float32, -infinity).kind, "identity-left");
  EXPECT_EQ(of_extremes(Operator::min, Type::float32, -infinity).kind, "wrong-identity");
  EXPECT_EQ(of_extremes(Operator::max, Type::int32, -1).kind, "wrong-identity");
  EXPECT_EQ(of_extremes(Operator::max, Type::uint32, 0).kind, "identity-left"); // nothing is below 0
  const Diagnosis empty =
      diagnosis_of([](const Sequence&) { return 2147483647.0; }, 0, Type::float32, Operator::min);
  EXPECT_EQ(empty.kind, "wrong-identity");
  EXPECT_FALSE(empty.specific);
}

TEST(Diagnosis, OfAFloatThatStalls) {
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::quarters, 100000, 1);
  const double sum = right(input), lost = 6 * 0.25; // 64 blocks of 256: thread 0 meets six more
  const Case given{Kind::quarters, 100000, 1, 256, 0};
  EXPECT_EQ(diagnose({given, 64, {{&input, sum, sum - lost}}, {}}).kind, "stalled");
  EXPECT_EQ(diagnose({given, 64, {{&input, sum, sum - lost - 1}}, {}}).kind, "");
}

// What the lab's code makes of 3 elements with one thread and a step that adds to the old excess.
TEST(Diagnosis, OfAStepOfKahan) {
  Sequence input{Type::float32, Kind::stalling, Operator::add, 3, 3, 1, std::vector<std::byte>(12)};
  store_value(Type::float32, 0x1p24, input.values.data());
  for (const std::size_t at : {4u, 8u}) store_value(Type::float32, 1, input.values.data() + at);
  Symptom symptom;
  symptom.given = {Kind::stalling, 3, 1, 1, 0}, symptom.is_kahan = true;
  // 2^24 + 1 stays 2^24 with an excess of -1; then 1 - -1 is wanted and added, which adds nothing to the
  // excess.
  symptom.observations = {{&input, 0x1p24 + 2, static_cast<float>(0x1p24 + 3)}};
  const Diagnosis found = diagnose(symptom);
  EXPECT_EQ(found.kind, "kahan-step") << found.text;
  EXPECT_NE(found.text.find("+="), std::string::npos) << found.text;
  symptom.observations[0].got = 0x1p24 + 7;
  EXPECT_NE(diagnose(symptom).kind, "kahan-step");
}

// Reduces by `op` the results of each `part` of the elements.
double of_parts(const Sequence& input, std::size_t part, Operator op) {
  double all = identity(input.type, op);
  for (std::size_t first = 0; first < input.n; first += part) {
    all = apply(op, all, reduce(input, first, first + part).value);
  }
  return all;
}

TEST(Diagnosis, OfAnotherOperator) {
  const auto least = [](const Sequence& s) { return of_parts(s, 1, Operator::min); };
  EXPECT_EQ(diagnosis_of(least, 1000, Type::float64, Operator::max).text,
            "The result is the minimum of the elements, not their maximum.");
  const auto of_blocks = [](const Sequence& s) { return of_parts(s, 256, Operator::min); };
  const Diagnosis blocks = diagnosis_of(of_blocks, 1000, Type::int32, Operator::max);
  EXPECT_EQ(blocks.kind, "other-operator");
  EXPECT_NE(blocks.text.find("the minimum of the blocks' maximums"), std::string::npos) << blocks.text;
}

TEST(Diagnosis, OfExtremesThatAreElements) {
  const auto as_signed = [](const Sequence& s) {
    double most = -0x1p31;
    for (std::size_t i = 0; i < s.n; ++i) most = std::max(most, s[i] < 0x1p31 ? s[i] : s[i] - 0x1p32);
    return most;
  };
  EXPECT_EQ(diagnosis_of(as_signed, 1000, Type::uint32, Operator::max).kind, "signed-comparison");
  const auto in_float = [](const Sequence& s) { return static_cast<double>(static_cast<float>(right(s))); };
  EXPECT_EQ(diagnosis_of(in_float, 1000, Type::float64, Operator::min).kind, "rounded-to-float");
  const auto second = [](const Sequence& s) {
    double below = identity(s.type, s.op);
    for (std::size_t i = 0; i < s.n; ++i) below = s[i] < right(s) ? std::max(below, s[i]) : below;
    return below;
  };
  const Diagnosis passed = diagnosis_of(second, 1000, Type::float64, Operator::max);
  EXPECT_EQ(passed.kind, "passed-over");
  EXPECT_NE(passed.text.find("is greater and was passed over"), std::string::npos) << passed.text;
}

TEST(Diagnosis, OfSignsAndSteps) {
  EXPECT_EQ(kind_of([](const Sequence& s) { return -right(s); }), "subtracted");
  const auto tree = [](const Sequence& s) {
    double sum = 0;
    for (std::size_t i = 0; i < s.n; ++i) sum += std::popcount(i % 256) % 2 ? -s[i] : s[i];
    return sum;
  };
  EXPECT_EQ(kind_of(tree), "subtracted");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return std::popcount(i % 256) <= 1; })), "stale-steps");
  EXPECT_EQ(kind_of(only([](std::size_t i) { return i / 256 % 64 < 32; }), 100003), "lost-block");
  const auto first_twice = [](const Sequence& s) { return right(s) + reduce(s, 0, 16384).value; };
  EXPECT_EQ(kind_of(first_twice, 100003), "first-twice");
}

using Rows = std::function<double(const Sequence&, std::size_t row)>;

double row_sum(const Sequence& matrix, std::size_t row) {
  return reduce(matrix, row * 60, (row + 1) * 60).value;
}

// The diagnosis for 100 rows of 60 elements.
Diagnosis diagnosis_of_rows(const Rows& wrong) {
  const Sequence inputs[] = {make_sequence(Type::float32, Operator::add, Kind::exact, 6000, 1),
                             make_sequence(Type::float32, Operator::add, Kind::exact, 6000, 99)};
  std::vector<RowObservation> observations;
  for (const Sequence& input : inputs) {
    RowObservation seen{&input, {}, {}};
    for (std::size_t row = 0; row < 100; ++row) {
      seen.expected.push_back(row_sum(input, row));
      seen.got.push_back(wrong(input, row));
    }
    observations.push_back(seen);
  }
  return diagnose_rows({Kind::exact, 6000, 100, 256, 0}, observations);
}

TEST(Diagnosis, OfTheRowsOfAMatrix) {
  EXPECT_EQ(diagnosis_of_rows(row_sum).kind, "");
  const auto lost = [](const Sequence& s, std::size_t row) {
    return row < 96 ? row_sum(s, row) : poison(s.type, Kind::exact);
  };
  EXPECT_EQ(diagnosis_of_rows(lost).kind, "rows-not-written");
  const auto by_columns = [](const Sequence& s, std::size_t row) {
    double sum = 0;
    for (std::size_t column = 0; column < 60; ++column) sum += s[column * 100 + row];
    return sum;
  };
  EXPECT_EQ(diagnosis_of_rows(by_columns).kind, "transposed");
  const auto running = [](const Sequence& s, std::size_t row) {
    double sum = 0;
    for (std::size_t before = row % 4; before <= row; before += 4) sum += row_sum(s, before);
    return sum;
  };
  EXPECT_EQ(diagnosis_of_rows(running).kind, "running-total");
  const auto next = [](const Sequence& s, std::size_t row) { return row_sum(s, (row + 1) % 100); };
  EXPECT_EQ(diagnosis_of_rows(next).kind, "other-row");
  const auto beside = [](const Sequence& s, std::size_t row) { return row_sum(s, row) + 17; };
  EXPECT_EQ(diagnosis_of_rows(beside).kind, "");
}

TEST(Diagnosis, OfOneRowIsThatOfASum) {
  const Diagnosis found = diagnosis_of_rows(
      [](const Sequence& s, std::size_t row) { return reduce(s, row * 60, row * 60 + 59).value; });
  EXPECT_EQ(found.kind, "lost-tail");
  EXPECT_EQ(found.text.substr(0, 7), "Row 0: ");
}

} // namespace
} // namespace lab
