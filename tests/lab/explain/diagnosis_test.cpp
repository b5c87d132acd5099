// What numbers show by themselves must be said, and nothing else.
#include "explain/diagnosis.hpp"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace lab {
namespace {

using Wrong = std::function<double(const Sequence&)>;

Diagnosis diagnosis_of(const Wrong& wrong, std::size_t n = 5000, Type type = Type::float32) {
  const Sequence first = make_sequence(type, Operator::add, Kind::exact, n, 1),
                 second = make_sequence(type, Operator::add, Kind::exact, n, 99);
  Symptom symptom{{Kind::exact, n, 1, 256, 0}, 64, {}, {}};
  for (const Sequence* input : {&first, &second}) {
    symptom.observations.push_back({input, reduce(*input, 0, n).value, wrong(*input)});
  }
  return diagnose(symptom);
}

testing::AssertionResult says(const Diagnosis& diagnosis, std::string_view part) {
  if (diagnosis.text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << diagnosis.kind << ": " << diagnosis.text;
}

std::string kind_of(const Wrong& wrong) {
  return diagnosis_of(wrong).kind;
}

double right(const Sequence& input) {
  return reduce(input, 0, input.n).value;
}

TEST(Diagnosis, OfWhatStoodInTheResultBefore) {
  EXPECT_TRUE(says(diagnosis_of([](const Sequence& s) { return poison(s.type, Kind::exact); }),
                   "which the check put there before the launch: nothing has changed it."));
  EXPECT_EQ(kind_of([](const Sequence& s) { return right(s) + poison(s.type, Kind::exact); }), "");
}

TEST(Diagnosis, OfWhatIsNoNumber) {
  EXPECT_TRUE(says(
      diagnosis_of([](const Sequence&) { return std::numeric_limits<double>::quiet_NaN(); }),
      "The result is not a number. Either something was used before it was set (the check fills memory "
      "that nothing has written yet with NaN, and a variable that was never set may hold one too), or "
      "an operation made it, such as infinity minus infinity or the square root of a negative number, or "
      "its bits were made as those of another type, such as an int. Is each value set on every path to its "
      "use, even where a thread has no element?"));
}

TEST(Diagnosis, OfAnythingElseSaysNothing) {
  EXPECT_EQ(kind_of([](const Sequence& s) { return 2 * right(s); }), "");
  EXPECT_EQ(kind_of([](const Sequence&) { return 0.0; }), "");
}

TEST(Diagnosis, OfRunsThatDiffer) {
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, 1000, 1);
  const double sum = right(input);
  EXPECT_TRUE(says(
      diagnose({{Kind::exact, 1000, 1, 256, 0}, 64, {{&input, sum, sum - 5}}, {sum - 9, sum}}),
      ": the result depends on which thread comes first, or on what the launch before has left in memory "
      "that keeps its values, such as a __device__ variable. Is everything there set back before it is "
      "used again?"));
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

TEST(Diagnosis, OfAFloatThatStalls) {
  const Sequence input = make_sequence(Type::float32, Operator::add, Kind::quarters, 100000, 1);
  const double sum = right(input), lost = 6 * -0.25; // 64 blocks of 256: thread 0 meets six more
  const Case given{Kind::quarters, 100000, 1, 256, 0};
  EXPECT_TRUE(
      says(diagnose({given, 64, {{&input, sum, sum - lost}}, {}}),
           "The result lacks exactly the 6 elements of -0.25 that the thread whose sum is -2^24 visits. A "
           "float that large rounds them away, and what it loses does not come back."));
  EXPECT_EQ(diagnose({given, 64, {{&input, sum, sum - lost - 1}}, {}}).kind, "");
}

// What the lab's code makes of 3 elements with one thread and a step that adds to the old excess.
TEST(Diagnosis, OfAStepOfKahan) {
  Sequence input{Type::float32, Kind::stalling, Operator::add, 3, 3, 1, std::vector<std::byte>(12)};
  store_value(Type::float32, 0x1p24, input.values.to_change());
  for (const std::size_t at : {4u, 8u}) store_value(Type::float32, 1, input.values.to_change() + at);
  Symptom symptom;
  symptom.given = {Kind::stalling, 3, 1, 1, 0}, symptom.is_kahan = true;
  // 2^24 + 1 stays 2^24 with an excess of -1; then 1 - -1 is wanted and added, which adds nothing to the
  // excess.
  symptom.observations = {{&input, 0x1p24 + 2, static_cast<float>(0x1p24 + 3)}};
  const Diagnosis found = diagnose(symptom);
  EXPECT_EQ(found.kind, "kahan-step") << found.text;
  EXPECT_NE(found.text.find("+="), std::string::npos) << found.text;
  // The excess is all that was wanted: 2^24, and with it 2^24 again for each 1.
  symptom.observations[0].got = 0x1p26;
  EXPECT_TRUE(
      says(diagnose(symptom),
           "you get if the excess is the whole of what was wanted, with the opposite sign: the new sum minus "
           "itself is 0. Is the old sum kept until the excess is known?"));
  // Nothing is kept, or with the wrong sign: each 1 is lost.
  symptom.observations[0].got = 0x1p24;
  EXPECT_TRUE(says(diagnose(symptom),
                   "the excess has the wrong sign. It is what was really added minus what was wanted, and it "
                   "is subtracted from the next x."));
  EXPECT_TRUE(says(diagnose(symptom), "You get the same if it is a plain addition of floats: nothing keeps "
                                      "what each rounding loses."));
  symptom.observations[0].got = 0x1p24 + 7;
  EXPECT_NE(diagnose(symptom).kind, "kahan-step");
}

} // namespace
} // namespace lab
