// The course: what the rungs of each lab promise, by the lab's folder and the rung's name.
#pragma once

#include "promises/rung.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace lab {

struct PromisesOfLab {
  std::string_view lab; // "02_tree"
  std::vector<Rung> (*rungs)();
};

// One for each lab in labs/meson.build, which makes this list.
std::span<const PromisesOfLab> course();

// The rungs that a lab's main() names, in its order, with their promises. Throws std::invalid_argument if the
// lab has no promises, if a rung has no entry there, or if an entry has no rung.
std::vector<Rung> with_promises(std::string_view lab, std::span<const Implementation> named);

} // namespace lab
