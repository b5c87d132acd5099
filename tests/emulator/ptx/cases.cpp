#include "cases.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace warpfold::inputs {

std::vector<std::filesystem::path> cases(const std::string& ending) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(CASES_FOLDER)) {
    if (entry.path().extension() == ending) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace warpfold::inputs
