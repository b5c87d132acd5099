// The test inputs: files beside the tests, found by their ending.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace warpfold::inputs {

// All files below the room's `cases` folder with this ending, in the order of their names.
std::vector<std::filesystem::path> cases(const std::string& ending);
std::string read_file(const std::filesystem::path& path);

} // namespace warpfold::inputs
