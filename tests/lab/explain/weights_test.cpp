#include "explain/weights.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace lab {
namespace {

// A rung that counts element i weight(i) times and adds a constant.
struct WeighedRung {
  std::size_t n;
  std::function<double(std::size_t)> weight;
  double constant = 0;

  double of(const Sequence& input) const {
    double sum = constant;
    for (std::size_t i = 0; i < n; ++i) sum += weight(i) * input[i];
    return sum;
  }
  Symptom symptom(const Sequence& first, const Sequence& second) const {
    Symptom seen{{Kind::exact, n, 1, 256, 0}, 4, {}, {}};
    for (const Sequence* input : {&first, &second})
      seen.observations.push_back({input, reduce(*input, 0, n).value, of(*input)});
    return seen;
  }
};

std::string said_of(const WeighedRung& rung,
                    const std::function<double(const Sequence&, double)>& spoil = {}) {
  const Sequence first = make_sequence(Type::float32, Operator::add, Kind::exact, rung.n, 1);
  const Sequence second = make_sequence(Type::float32, Operator::add, Kind::exact, rung.n, 2);
  const Symptom symptom = rung.symptom(first, second);
  const auto weights = find_weights(symptom, [&](const Sequence& probe) -> std::optional<double> {
    return spoil ? spoil(probe, rung.of(probe)) : rung.of(probe);
  });
  return weights ? describe(*weights, symptom).text : "";
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST(Weights, AreSaidOfStretchesAndOfPlacesThatRepeat) {
  const auto second_half = said_of({1000, [](std::size_t i) { return i < 500 ? 1.0 : 2.0; }});
  EXPECT_TRUE(has(second_half, "elements 500 to 999 (the last 500) count twice")) << second_half;
  const auto one = said_of({1000, [](std::size_t i) { return i == 17 ? 0.0 : 1.0; }});
  EXPECT_TRUE(has(one, "element 17 does not count, and the others count once")) << one;
  const auto lanes = said_of({1000, [](std::size_t i) { return i % 32 == 5 ? 1.0 : 0.0; }});
  EXPECT_TRUE(has(lanes, "every 32nd element (5, 37, ...) counts once")) << lanes;
  const auto steps = said_of({1000, [](std::size_t i) { return i % 64 < 16 ? 1.0 : 0.0; }});
  EXPECT_TRUE(has(steps, "elements 0 to 15 of every 64 (0 to 15, 64 to 79, ...) count once")) << steps;
}

TEST(Weights, MayBeLargeOrNegativeOrCountMoreAndMore) {
  EXPECT_TRUE(has(said_of({100, [](std::size_t) { return 256.0; }}), "every element counts 256 times"));
  EXPECT_TRUE(has(said_of({100, [](std::size_t i) { return i % 2 ? -1.0 : 1.0; }}), "negative"));
  const auto growing =
      said_of({1000, [](std::size_t i) { return 1 + std::floor(static_cast<double>(i) / 100); }});
  EXPECT_TRUE(
      has(growing,
          "the elements count between 1 and 10 times: element 0 counts once, element 900 counts 10 times"))
      << growing;
}

// Sums beyond 2^24 round in a float, and the direction depends on the order of the additions.
TEST(Weights, AreToldOfSumsThatRound) {
  const WeighedRung rung{1000, [](std::size_t) { return 256.0; }};
  const auto rounded = [](double sum) { return static_cast<double>(static_cast<float>(sum + 100)); };
  const Sequence first = make_sequence(Type::float32, Operator::add, Kind::exact, rung.n, 1);
  Symptom symptom = rung.symptom(first, first);
  for (Observation& seen : symptom.observations) seen.got = rounded(seen.got);
  EXPECT_NE(symptom.observations[0].got, rung.of(first));
  const auto exactly = [&](const Sequence& probe) -> std::optional<double> { return rung.of(probe); };
  const auto weights = find_weights(symptom, exactly);
  ASSERT_TRUE(weights);
  EXPECT_EQ(describe(*weights, symptom).kind, "weights");
  symptom.observations[0].got *= 1.01; // rounding does not explain so much
  EXPECT_FALSE(find_weights(symptom, exactly));
}

TEST(Weights, OfWholeShardsNameTheDevices) {
  const auto said = [](const std::function<double(std::size_t)>& weight) {
    const Sequence input = make_sequence(Type::float32, Operator::add, Kind::exact, 512, 1);
    Symptom symptom{{Kind::exact, 512, 1, 256, 0}, 4, {}, {}};
    symptom.observations.push_back({&input, 0, 0});
    symptom.given.devices = 4;
    Weights weights;
    for (std::size_t i = 0; i < 512; ++i) weights.of.push_back(weight(i));
    return describe(weights, symptom).text;
  };
  EXPECT_TRUE(has(said([](std::size_t i) { return i < 128 ? 4.0 : 0.0; }),
                  "those of devices 1, 2, 3 do not count, those of device 0 count 4 times."));
  EXPECT_TRUE(has(said([](std::size_t i) { return i < 384 ? 1.0 : 0.0; }), "those of device 3 do not count"));
  EXPECT_FALSE(has(said([](std::size_t i) { return i < 100 ? 3.0 : 0.0; }), "device"));
}

TEST(Weights, AFewLargeOnesAmongNoneAreFound) {
  const auto first = said_of({1000, [](std::size_t i) { return i % 256 == 0 ? 100.0 : 0.0; }});
  EXPECT_TRUE(has(first, "every 256th element (0, 256, ...) counts 100 times")) << first;
}

TEST(Weights, AConstantIsToldApart) {
  const auto text = said_of({100, [](std::size_t) { return 1.0; }, 28});
  EXPECT_TRUE(has(text, "Every element counts once, as it should, but 28 is added whatever the elements are"))
      << text;
  const auto old = said_of({100, [](std::size_t) { return 1.0; }, poison(Type::float32, Kind::exact)});
  EXPECT_TRUE(has(old, " is added whatever the elements are: it stood in the result before the launch"))
      << old;
  const auto nothing = said_of({100, [](std::size_t) { return 0.0; }, 28});
  EXPECT_TRUE(has(nothing, "The result is 28 whatever the elements are: none of them counts.")) << nothing;
}

TEST(Weights, OfLongInputsAreFoundInStretches) {
  const auto text = said_of({100003, [](std::size_t i) { return i < 65536 ? 1.0 : 0.0; }});
  EXPECT_TRUE(has(text, "elements 65536 to 100002 (the last 34467) do not count")) << text;
}

TEST(Weights, NothingIsSaidOfWhatIsNoWeighedSum) {
  const WeighedRung right{100, [](std::size_t) { return 1.0; }};
  int runs = 0;
  EXPECT_EQ(said_of(right, [&](const Sequence&, double sum) { return sum + (++runs % 7 == 3); }), "");
  EXPECT_EQ(said_of(right, [](const Sequence&, double) { return NAN; }), "");
}

} // namespace
} // namespace lab
