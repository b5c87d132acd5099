#include "opencl/counted.hpp"

#include <fmt/format.h>
#include <regex>
#include <sstream>
#include <vector>

namespace lab::opencl {
namespace {

// Names of the arrays in a parameter list: "global const float* input".
void read_arrays(const std::string& line, std::vector<std::string>& names) {
  static const std::regex array(R"((?:global|local)\s+(?:const\s+)?float\s*\*\s*(\w+))");
  for (std::sregex_iterator found(line.begin(), line.end(), array), end; found != end; ++found) {
    names.push_back((*found)[1]);
  }
}

// If a kernel begins in this line, adds a parameter before the others. Returns whether one does.
bool add_parameter(std::string& line, const char* parameter) {
  static const std::regex kernel(R"(\bkernel\s+void\s+\w+\s*\()");
  std::smatch found;
  if (!std::regex_search(line, found, kernel)) return false;
  line.insert(static_cast<std::size_t>(found.position() + found.length()), parameter);
  return true;
}

} // namespace

std::string with_counts(const std::string& source) {
  std::istringstream lines(source);
  std::string counted;
  std::vector<std::string> arrays; // of the kernel that the line is in
  bool in_parameters = false;
  for (std::string line; std::getline(lines, line);) {
    if (add_parameter(line, "global uint* lab_uses, ")) arrays.clear(), in_parameters = true;
    if (in_parameters) read_arrays(line, arrays);
    in_parameters = in_parameters && line.find('{') == line.npos;
    counted += line + '\n';
    // A macro's own name in its expansion is not expanded again.
    for (const std::string& name : arrays) {
      if (line.find("// BEGIN ") != line.npos)
        counted += fmt::format("#define {0} (lab_uses[get_global_id(0)]++, {0})\n", name);
      if (line.find("// END ") != line.npos) counted += fmt::format("#undef {}\n", name);
    }
  }
  return counted;
}

std::string with_barriers_counted(const std::string& source) {
  std::istringstream lines(source);
  std::string counted = "#define barrier(flags) (lab_met[3 * get_global_id(0)]++, "
                        "lab_met[3 * get_global_id(0) + 1] += ((flags) & CLK_GLOBAL_MEM_FENCE) != 0, "
                        "lab_met[3 * get_global_id(0) + 2] += ((flags) & CLK_LOCAL_MEM_FENCE) != 0)\n"
                        "#line 1\n";
  for (std::string line; std::getline(lines, line);) {
    add_parameter(line, "global uint* lab_met, ");
    counted += line + '\n';
  }
  return counted;
}

} // namespace lab::opencl
