// The marked regions of a lab's source, which a student fills in.
//
//   // BEGIN warp_shuffle
//   // TODO: Add up the warp's values by shuffles (3 lines).
//   // END warp_shuffle
//
// A region that holds only comments and blank lines is still to be filled in. A rung may have several
// regions, all with its name.
#pragma once

#include "promises/rung.hpp"

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

struct Region {
  std::string rung;
  int first_line = 0, last_line = 0; // of the markers, from 1
  bool filled = false;
  int todo_line = 0; // of the first line that starts "// TODO: "; else the first line in the region
  std::string
      todo; // its text, continued over the comment lines that follow; of several, "region 2 of 2: " first
};

struct RegionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws RegionError (with file:line) for a marker without its partner, or one region inside another.
std::vector<Region> find_regions(std::string_view source, std::string_view file);

// The rung's first region that is still to be filled in, or before that, one of the rung that it builds on;
// null if there is none. A student who repairs a rung that is handed out broken may leave a region empty.
const Region* next_todo(const std::vector<Region>& regions, std::span<const Rung> rungs, const Rung& rung);

// The rung's first region with code that still says "// TODO: "; null if there is none. A rung that is handed
// out broken keeps that line until it is repaired.
const Region* next_repair(const std::vector<Region>& regions, const Rung& rung);

} // namespace lab
