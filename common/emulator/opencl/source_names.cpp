#include "source_names.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace warpfold::opencl {
namespace {

namespace fs = std::filesystem;

bool holds(const fs::path& path, const std::string& source) {
  std::error_code error;
  if (fs::file_size(path, error) != source.size() || error) return false;
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {}) == source;
}

std::optional<fs::path> find(const fs::path& folder, const std::string& source) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".cl" && holds(at->path(), source)) return at->path();
  return std::nullopt;
}

// A file among the program's arguments, as most programs of OpenCL take their kernels' file.
std::optional<fs::path> find_in_arguments(const std::string& source) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string argument; std::getline(file, argument, '\0');)
    if (argument.ends_with(".cl") && holds(argument, source)) return fs::absolute(argument);
  return std::nullopt;
}

std::string quoted(const std::string& path) {
  std::string text = "\"";
  for (const char c : path) text += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return text + '"';
}

} // namespace

std::string with_name(const std::string& source) {
  std::error_code error;
  std::optional<fs::path> path = find_in_arguments(source);
  for (const fs::path& folder :
       {fs::current_path(error), fs::read_symlink("/proc/self/exe", error).parent_path()})
    if (!path && !folder.empty()) path = find(folder, source);
  return path ? "#line 1 " + quoted(path->string()) + "\n" + source : source;
}

} // namespace warpfold::opencl
