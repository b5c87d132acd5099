#include "ptx_text.hpp"

#include <sstream>
#include <string_view>

namespace warpfold::opencl {

std::string with_padded_table(std::string ptx) {
  constexpr std::string_view table = "PIBITS_TBL[158]", padded = "PIBITS_TBL[160]";
  if (const auto at = ptx.find(table); at != ptx.npos) ptx.replace(at, table.size(), padded);
  return ptx;
}

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
