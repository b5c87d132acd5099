// What the results of a row show, if a softmax is wrong.
#include "explain/row_facts.hpp"

#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace lab {
namespace {

using Elements = std::vector<double>;

constexpr double infinite = std::numeric_limits<double>::infinity();

// Of a row of these elements, column c of which became weight(c, the row's sum of exponentials).
std::string said_of(const Elements& elements, const std::function<double(std::size_t, double)>& weight,
                    RowFunction function = RowFunction::softmax, Type type = Type::float32) {
  Sequence input{type, Kind::scores, Operator::add, elements.size(), elements.size(), 1, {}};
  input.values = std::vector<std::byte>(elements.size() * size_of(type));
  double sum = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    store_value(type, elements[i], input.values.to_change() + i * size_of(type));
    sum += std::exp(elements[i]);
  }
  const Variant variant;
  Failure failure;
  failure.variant = &variant, failure.given = {Kind::scores, elements.size(), 1, 64, 0};
  for (std::size_t i = 0; i < elements.size(); ++i) failure.results.push_back(weight(i, sum));
  Rung rung("rung");
  rung.computes(function);
  return facts_of_row(rung, failure, input).text;
}

// 0 in each column but the first of so many, where it is -1: the row's greatest is 0.
Elements row(std::size_t columns, std::size_t of_so_many = 7) {
  Elements elements(columns, 0);
  for (std::size_t i = 0; i < columns; i += of_so_many) elements[i] = -1;
  return elements;
}

TEST(RowFacts, ARightRowHasNone) {
  const Elements elements = row(100);
  EXPECT_EQ(said_of(elements, [&](std::size_t i, double sum) { return std::exp(elements[i]) / sum; }), "");
}

TEST(RowFacts, NotANumberFromMaskedElements) {
  Elements elements = row(100);
  elements[3] = -infinite;
  EXPECT_EQ(
      said_of(elements, [](std::size_t, double) { return std::nan(""); }),
      "The row has masked elements (-inf). -inf - (-inf) is NaN: it arises where a thread, a warp or a "
      "block that has met nothing but masked elements, or none at all, subtracts its maximum of -inf from "
      "-inf.");
}

TEST(RowFacts, OfAnRmsNorm) {
  const Elements elements(200, 2); // the mean of the squares is 4
  const auto divided_by = [&](const std::function<double(std::size_t)>& root) {
    return said_of(
        elements, [&](std::size_t i, double) { return elements[i] / root(i); }, RowFunction::rms_norm);
  };
  constexpr double epsilon = rms_norm_epsilon;
  EXPECT_EQ(divided_by([](std::size_t) { return std::sqrt(4 + epsilon); }), "");
  EXPECT_EQ(divided_by([](std::size_t) { return std::sqrt(800.0 / 256 + epsilon); }),
            "Every result of the row is 1.13137 times what it should be, as if the mean of the squares were "
            "3.125 and not 4: that is the sum of the squares divided by 256, in place of the row's 200 "
            "elements.");
  const Elements slope = row(200);
  double mean = 0, of_squares = 0;
  for (const double x : slope) mean += x / 200, of_squares += x * x / 200;
  const double deviation = std::sqrt(of_squares - mean * mean + epsilon);
  EXPECT_TRUE(said_of(
                  slope, [&](std::size_t i, double) { return slope[i] / deviation; }, RowFunction::rms_norm)
                  .ends_with(", the square of the elements' mean, which makes it their variance."));
  EXPECT_EQ(divided_by([](std::size_t) { return 4.0; }),
            "Every result of the row is 0.500001 times what it should be, as if the mean of the squares were "
            "16 and not 4: that is 4 squared, as where no root is taken.");
  EXPECT_EQ(divided_by([](std::size_t) { return 0.5; }),
            "Every result of the row is 4 times what it should be, as if the mean of the squares were "
            "0.24999 and not 4: that is 1 / 4, as where the root is multiplied by.");
  EXPECT_EQ(divided_by([](std::size_t i) { return i == 9 ? 1.999 : 1.9999; }),
            "Every result of the row is within a thousandth of what it should be; that in column 9 is 1.0005 "
            "times that.");
  EXPECT_EQ(said_of(
                Elements(200, 0.3), [](std::size_t, double) { return 0.3 / (0.3 + epsilon); },
                RowFunction::rms_norm),
            "Every result of the row is within a thousandth of what it should be. What is that small in the "
            "formula is epsilon: is it added to the mean of the squares, before the root is taken?");
  EXPECT_TRUE(divided_by([](std::size_t i) { return i / 8 % 2 == 0 ? 1.0 : 2.0; })
                  .ends_with("columns 0 to 7 are 2 times what they should be, and columns 8 to 15 are right: "
                             "neighbours share a factor, as if they had a sum of their own. Which "
                             "threads hold them, and what do these know of the rest of the row?"));
  EXPECT_EQ(
      divided_by([](std::size_t) { return infinite; }),
      "Every result of the row is 0, as if the sum of the squares were infinite, and no element's square "
      "is. With what does a thread's sum begin, and what stands where it has no element?");
}

TEST(RowFacts, OfAnRmsNormOfSmallElements) {
  const Elements elements(200, 1e-4);
  EXPECT_EQ(said_of(
                elements, [](std::size_t, double) { return 1; }, RowFunction::rms_norm),
            "Every result of the row is 31.6386 times what it should be. Its elements are so small that "
            "epsilon is most of what stands under the root: 1e-05, and the mean of the squares is 1e-08.");
}

TEST(RowFacts, ElementsThatAreTheirOwnMaximum) {
  EXPECT_EQ(
      said_of(row(100), [](std::size_t, double) { return 0.01; }),
      "Each of the 100 results of the row is 1 / 100: each exponential was exp(0). Was an element's own "
      "value subtracted from it, as the maximum of a thread that has one element?");
}

TEST(RowFacts, ExponentialsOfExponentials) {
  const Elements elements = row(100, 3);
  EXPECT_EQ(
      said_of(elements, [&](std::size_t i, double) { return std::exp(std::exp(elements[i]) - 5) / 7; }),
      "The results of the row are made of exp(exp(x - a) - b), with numbers a and b: what was an exponential "
      "already has been taken for an element.");
}

TEST(RowFacts, ZerosWhereThereIsNoElement) {
  Elements elements(100, 1);
  elements[3] = 2;
  const auto more = [&](double count) {
    return said_of(elements,
                   [&](std::size_t i, double sum) { return std::exp(elements[i]) / (sum + count); });
  };
  EXPECT_TRUE(more(28).ends_with(
      " 3.78939 more is 28 times exp(0 - 2), as if the row had 28 elements more that are 0. What "
      "stands where a thread has no element?"))
      << more(28);
  EXPECT_EQ(more(28.4).find("exp(0"), std::string::npos) << more(28.4);
}

TEST(RowFacts, RoundedBeforeTheEnd) {
  const Elements elements = row(100);
  const auto off = [&](std::size_t i, double sum) {
    return std::exp(elements[i]) / sum * (1 + (i % 3 ? 0.004 : -0.004));
  };
  EXPECT_TRUE(said_of(elements, off, RowFunction::softmax, Type::bfloat16)
                  .starts_with("Every result of the row is off by less than 0.78 %, which is what one or two "
                               "roundings to bfloat16 (8 bits) make."));
  EXPECT_EQ(said_of(elements, off), "As if column 0 of the row were divided by 90.8817, and column 1 by "
                                    "90.1576; the row's sum of exponentials is 90.5182.");
}

TEST(RowFacts, AnyOtherDivisor) {
  const Elements elements = row(200);
  const std::string said =
      said_of(elements, [&](std::size_t i, double) { return std::exp(elements[i]) / 3; });
  double sum = 0;
  for (const double element : elements) sum += std::exp(element);
  EXPECT_TRUE(said.ends_with("; the row's sum of exponentials is " + fmt::format("{:.6g}.", sum))) << said;
}

} // namespace
} // namespace lab
