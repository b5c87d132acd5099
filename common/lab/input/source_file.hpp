// Where a lab's own file is, and what it contains.
#pragma once

#include "input/regions.hpp"

#include <optional>
#include <string>
#include <vector>

namespace lab {

// The compiler was given the lab's file relative to the folder that it was called in, usually the build
// folder. So the file is looked for from here and from each folder above the program. The result is relative
// to the current folder if the file is below it.
std::string find_source(const std::string& as_compiled);

// The lab's name, which is the name of the folder of its file.
std::string lab_of(const std::string& source);

// Nothing if the file cannot be read.
std::optional<std::string> read_text(const std::string& path);

// The lab's regions; none if the source cannot be read, for example because only the program was passed on.
std::vector<Region> read_regions(const std::string& source);

} // namespace lab
