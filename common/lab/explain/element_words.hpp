// Elements in words: which they are, and how often they count.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace lab {

using Indices = std::vector<std::size_t>; // of elements, in order

// "elements 256 to 999 (the last 744)", of an array of n that blocks of `block` threads reduce.
std::string in_words(const Indices& elements, std::size_t n, unsigned block);

// "count twice", "do not count"; of a single one, "counts twice".
std::string counted(double count, bool one = false);

// "Each element should count once. Here elements 0 to 3 count twice, and the others once, as they should."
std::string how_often(const std::map<double, Indices>& by_count, std::size_t n, unsigned block);

} // namespace lab
