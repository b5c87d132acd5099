// Impostors: host functions that compute a rung's result in a way that is not the rung's. They are the solved
// rungs of the whole course, each handed in for every other one, and ways of not sharing the work, written
// for this test.
#pragma once

#include "promises/rung.hpp"

#include <string>
#include <vector>

namespace lab {

struct Impostor {
  std::string lab, name; // of a solved rung; or "", and what it does
  Variant variant;
};
std::vector<Impostor>& impostors();

// Replaces lab::main() when a solution is compiled into the test: records the rungs that its main() names.
int take_down(int, char**, std::initializer_list<Implementation> rungs,
              const char* source = __builtin_FILE());

} // namespace lab
