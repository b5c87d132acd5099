#include "ptx_text.hpp"

#include <sstream>

namespace warpfold::opencl {

std::vector<std::string> undefined_functions(const std::string& ptx) {
  std::vector<std::string> names;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(".extern .func")) continue;
    std::string name = line.substr(line.find_last_of(" \t)") + 1);
    if (name.empty()) std::getline(lines, name);
    if (name != "printf" && name != "vprintf") names.push_back(name);
  }
  return names;
}

} // namespace warpfold::opencl
