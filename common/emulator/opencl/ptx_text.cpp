#include "ptx_text.hpp"

#include <sstream>
#include <string_view>

namespace warpfold::opencl {

std::string with_labels_before_calls(const std::string& ptx) {
  std::istringstream lines(ptx);
  std::string result, call, labels;
  for (std::string line; std::getline(lines, line);) {
    line += '\n';
    const std::size_t begin = line.find_first_not_of(" \t");
    if (call.empty() && line.compare(begin, 5, "call.") != 0) {
      result += line;
      continue;
    }
    (line.starts_with('$') ? labels : call) += line;
    if (line.find(';') == line.npos) continue;
    result += labels + call;
    call.clear();
    labels.clear();
  }
  return result;
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
