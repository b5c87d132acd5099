#include "explain/element_words.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lab {
namespace {

// "elements 3 and 7"; "" where there are too many.
std::string few(const Indices& places) {
  if (places.size() > 4) return "";
  std::string text = fmt::format("element{} {}", places.size() == 1 ? "" : "s", places[0]);
  for (std::size_t i = 1; i < places.size(); ++i)
    text += fmt::format("{} {}", i + 1 == places.size() ? " and" : ",", places[i]);
  return text;
}

std::string ordinal(std::size_t number) { // for powers of two from 2 on
  return number == 2 ? "second"
                     : fmt::format("{}{}", number, number % 10 == 2 && number % 100 != 12 ? "nd" : "th");
}

struct Words {
  std::string text;
  bool is_singular = false;
};

// Consecutive places, or the same places of each `period` elements; "" if they are neither.
Words regular(const Indices& places, std::size_t n, unsigned block) {
  const std::size_t first = places.front(), last = places.back();
  if (last - first + 1 == places.size()) {
    if (places.size() == n) return {"every element", true};
    return {fmt::format("elements {} to {}{}", first, last,
                        first == 0      ? fmt::format(" (the first {})", places.size())
                        : last + 1 == n ? fmt::format(" (the last {})", places.size())
                                        : "")};
  }
  std::vector<bool> held(n);
  for (const std::size_t place : places) held[place] = true;
  for (std::size_t period = 2; period <= 4 * std::size_t{block} && 2 * period <= n; period *= 2) {
    bool repeats = true;
    for (std::size_t i = period; i < n && repeats; ++i) repeats = held[i] == held[i - period];
    if (!repeats) continue;
    std::size_t begin = 0, end = period;
    while (!held[begin]) ++begin;
    while (!held[end - 1]) --end;
    const auto count = std::count(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(period), true);
    if (static_cast<std::size_t>(count) != end - begin) return {};
    if (end - begin == 1)
      return {fmt::format("every {} element ({}, {}, ...)", ordinal(period), begin, begin + period), true};
    return {fmt::format("elements {1} to {2} of every {0} ({3} to {4}, {5} to {6}, ...)", period, begin,
                        end - 1, begin, end - 1, begin + period, end - 1 + period)};
  }
  return {};
}

Words words_for(const Indices& places, std::size_t n, unsigned block) {
  if (Words words = regular(places, n, block); !words.text.empty() && places.size() > 2) return words;
  if (const std::string text = few(places); !text.empty()) return {text, places.size() == 1};
  return {fmt::format("{} elements ({}, {}, {}, ...)", places.size(), places[0], places[1], places[2])};
}

} // namespace

std::string in_words(const Indices& places, std::size_t n, unsigned block) {
  return words_for(places, n, block).text;
}

namespace {

std::string times(double weight) {
  if (weight == 1) return "once";
  if (weight == 2) return "twice";
  if (weight < 0) return weight == -1 ? "negatively" : fmt::format("{:g} times", weight);
  return fmt::format("{:g} times", weight);
}

} // namespace

std::string counted(double count, bool one) {
  return count == 0 ? fmt::format("do{} not count", one ? "es" : "")
                    : fmt::format("count{} {}", one ? "s" : "", times(count));
}

std::string how_often(const std::map<double, Indices>& by_count, std::size_t n, unsigned block) {
  const auto as_it_should = by_count.find(1);
  const bool mostly_right = as_it_should != by_count.end() && 2 * as_it_should->second.size() > n;
  std::string text;
  constexpr std::size_t most_groups = 4;
  if (by_count.size() > most_groups) {
    const auto& [least, seldom] = *by_count.begin();
    const auto& [most, often] = *by_count.rbegin();
    text = fmt::format("the elements count between {:g} and {:g} times: element {} {}, element {} {}", least,
                       most, seldom.front(), counted(least, true), often.front(), counted(most, true));
  } else {
    for (const auto& [count, places] : by_count) {
      if (count == 1 && mostly_right) continue;
      const auto [which, is_singular] = words_for(places, n, block);
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", which, counted(count, is_singular));
    }
    if (mostly_right) text += ", and the others count once, as they should";
  }
  return fmt::format("Each element should count once. Here {}.", text);
}

} // namespace lab
