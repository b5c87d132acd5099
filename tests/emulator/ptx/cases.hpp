// The test inputs: files next to the tests, found by their extension.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace warpfold::inputs {

// All files in the `cases` folder with this extension, sorted by name.
std::vector<std::filesystem::path> cases(const std::string& ending);
std::string read_file(const std::filesystem::path& path);

} // namespace warpfold::inputs
