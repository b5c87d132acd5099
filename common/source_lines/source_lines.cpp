#include "source_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <link.h>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace warpfold {
namespace {

// The output of a program; "" if it cannot be run.
std::string output_of(std::vector<std::string> command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got; !failed && (got = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  if (!failed) waitpid(child, nullptr, 0);
  return text;
}

std::string hexadecimal(std::uint64_t address) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), address, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

} // namespace

bool SourcePlace::is_of_system() const {
  if (!file.starts_with('/') || file.starts_with("/usr/")) return true;
  const auto is_in_path = [this](const char* part) { return file.find(part) != std::string::npos; };
  return is_in_path(".cudafe1.") || is_in_path("/include/cuda_runtime") || is_in_path("/include/crt/");
}

bool SourcePlace::is_in_stub() const {
  return function.find("__device_stub__") != std::string::npos;
}

std::string SourcePlace::text() const {
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::path(file).lexically_normal();
  const std::string below = whole.lexically_relative(std::filesystem::current_path(unknown)).string();
  return (below.empty() || below.starts_with("..") ? whole.string() : below) + ":" + std::to_string(line);
}

std::uint64_t address_in_file(const void* address, const void* base) {
  const bool is_moved = static_cast<const ElfW(Ehdr)*>(base)->e_type == ET_DYN;
  return reinterpret_cast<std::uint64_t>(address) - (is_moved ? reinterpret_cast<std::uint64_t>(base) : 0);
}

std::vector<SourcePlace> source_places(const std::string& module,
                                       const std::vector<std::uint64_t>& addresses) {
  if (addresses.empty()) return {};
  std::vector<std::string> command{"addr2line", "-f", "-i", "-e", module};
  for (const std::uint64_t address : addresses) command.push_back(hexadecimal(address));
  const std::string answer = output_of(std::move(command)); // pairs of lines: function, and "file:line"
  std::size_t at = 0;
  const auto next = [&] {
    const std::size_t end = std::min(answer.find('\n', at), answer.size());
    const std::string_view line(answer.data() + at, end - at);
    at = end + 1;
    return line;
  };
  std::vector<SourcePlace> found;
  while (at < answer.size()) {
    SourcePlace place;
    place.function = next();
    const std::string_view where = next();
    const std::size_t colon = where.rfind(':');
    if (colon == std::string_view::npos) continue;
    std::from_chars(where.data() + colon + 1, where.data() + where.size(), place.line); // "?" stays 0
    place.file = where.substr(0, colon);
    found.push_back(std::move(place));
  }
  return found;
}

} // namespace warpfold
