// Where a lab's own file is, and what it says.
#pragma once

#include "source/regions.hpp"

#include <optional>
#include <string>
#include <vector>

namespace lab {

// The lab's file as the compiler was given it is relative to the folder that it was called in, most often the
// build folder: looked for from here and from each folder above the program. Relative to the current folder
// where it is below that.
std::string find_source(const std::string& as_compiled);

// The lab's name, which is that of the folder that its file lies in.
std::string lab_of(const std::string& source);

// Nothing where the file cannot be read.
std::optional<std::string> read_text(const std::string& path);

// The lab's regions; none where the source cannot be read, as when only the program was handed on.
std::vector<Region> read_regions(const std::string& source);

} // namespace lab
