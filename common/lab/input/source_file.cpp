#include "input/source_file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace lab {
namespace {

// Relative to the current folder if the file is below it, else absolute: editors and terminals find both.
std::string shown_path(const std::filesystem::path& path) {
  std::error_code error;
  const auto whole = std::filesystem::canonical(path, error);
  if (error) return path.string();
  const auto relative = whole.lexically_relative(std::filesystem::current_path(error));
  return error || relative.empty() || *relative.begin() == ".." ? whole.string() : relative.string();
}

} // namespace

std::string find_source(const std::string& as_compiled) {
  namespace fs = std::filesystem;
  const fs::path path(as_compiled);
  std::error_code ignored;
  if (path.is_absolute()) return shown_path(path);
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  for (fs::path folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::exists(folder / path, ignored)) return shown_path(folder / path);
  }
  return shown_path(path);
}

std::string lab_of(const std::string& source) {
  return std::filesystem::absolute(source).lexically_normal().parent_path().filename().string();
}

std::optional<std::string> read_text(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Region> read_regions(const std::string& source) {
  const std::optional<std::string> text = read_text(source);
  return text ? find_regions(*text, source) : std::vector<Region>{};
}

} // namespace lab
