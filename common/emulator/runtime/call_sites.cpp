#include "call_sites.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <map>
#include <memory>
#include <mutex>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace warpfold::runtime {
namespace {

constexpr std::size_t kept = 8;

const void* base_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

// What addr2line needs: the address as it is in the file.
std::uint64_t address_in_file(std::uint64_t address, const void* base) {
  const auto* header = static_cast<const ElfW(Ehdr)*>(base);
  return header->e_type == ET_DYN ? address - reinterpret_cast<std::uint64_t>(base) : address;
}

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

std::string readable(const std::string& mangled) {
  if (!mangled.starts_with("_Z")) return mangled; // the demangler would take `x` for a type
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                              std::free);
  return status == 0 ? name.get() : mangled;
}

// Excludes nvcc's own glue between <<<...>>> and this library, and the toolkit's and the system's files.
bool is_of_program(const std::string& function, const std::string& file, const std::string& kernel) {
  if (!file.starts_with('/') || file.starts_with("/usr/")) return false;
  for (const char* part : {"cudafe1", ".stub.c", "cuda_runtime", "/crt/", "tmpxft"})
    if (file.find(part) != std::string::npos) return false;
  return function.find("__device_stub__") == std::string::npos &&
         (kernel.empty() || readable(function) != kernel);
}

// Pairs of lines: a function's name and "file:line", the innermost inlined function first.
machine::SourceLine first_of_program(const std::string& answer, const std::string& kernel) {
  std::size_t at = 0;
  const auto next = [&] {
    const std::size_t end = std::min(answer.find('\n', at), answer.size());
    std::string line = answer.substr(at, end - at);
    at = end + 1;
    return line;
  };
  while (at < answer.size()) {
    const std::string function = next(), place = next();
    const std::size_t colon = place.rfind(':');
    if (colon == std::string::npos || place.starts_with("??")) continue;
    std::uint32_t line = 0; // "?" stays 0
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
    const std::string file = place.substr(0, colon);
    if (line != 0 && is_of_program(function, file, kernel)) return {file, line};
  }
  return {};
}

} // namespace

std::vector<std::uint64_t> callers() {
  static const void* const own = base_of(reinterpret_cast<const void*>(&callers));
  std::array<void*, 32> all;
  const int count = backtrace(all.data(), static_cast<int>(all.size()));
  std::vector<std::uint64_t> found;
  for (int i = 0; i < count && found.size() < kept; ++i)
    if (!found.empty() || base_of(all[i]) != own)
      found.push_back(reinterpret_cast<std::uint64_t>(all[i]) - 1); // inside the call, not after it
  return found;
}

namespace {

machine::SourceLine ask_for_line(const std::vector<std::uint64_t>& frames, const std::string& kernel) {
  for (std::size_t i = 0; i < frames.size();) {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void*>(frames[i]), &info)) {
      ++i;
      continue;
    }
    std::vector<std::string> command{"addr2line", "-f", "-i", "-e", info.dli_fname};
    const void* const base = info.dli_fbase;
    for (; i < frames.size() && base_of(reinterpret_cast<void*>(frames[i])) == base; ++i)
      command.push_back(fmt::format("0x{:x}", address_in_file(frames[i], base)));
    if (machine::SourceLine line = first_of_program(output_of(std::move(command)), kernel); line.line)
      return line;
  }
  return {};
}

} // namespace

machine::SourceLine line_of(const std::vector<std::uint64_t>& frames, const std::string& kernel) {
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<std::pair<std::vector<std::uint64_t>, std::string>, machine::SourceLine>;
  std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace({frames, kernel});
  if (is_new) found->second = ask_for_line(frames, kernel);
  return found->second;
}

} // namespace warpfold::runtime
