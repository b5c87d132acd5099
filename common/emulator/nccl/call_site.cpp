#include "call_site.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <link.h>
#include <map>
#include <mutex>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace warpfold::nccl {
namespace {

// The path by which another process finds the file, too.
const std::string& module_path(const void* base, const char* name) {
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<const void*, std::string>;
  std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace(base);
  if (is_new) {
    std::error_code unknown;
    found->second = std::filesystem::canonical(name, unknown).string();
    // The loader knows the program by the name that it was started by, which may be relative to another
    // folder.
    if (unknown) found->second = std::filesystem::canonical("/proc/self/exe", unknown).string();
  }
  return found->second;
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

// The first "file:line" of addr2line's answer that is not the system's or the toolkit's.
std::string first_of_program(std::string_view answer) {
  while (!answer.empty()) {
    const std::size_t end = std::min(answer.find('\n'), answer.size());
    const std::string_view place = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 1, answer.size()));
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos || !place.starts_with('/') || place.starts_with("/usr/")) continue;
    int line = 0; // "?" stays 0
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
    if (line == 0) continue;
    const std::filesystem::path file = std::filesystem::path(place.substr(0, colon)).lexically_normal();
    std::error_code unknown;
    const std::filesystem::path here = std::filesystem::current_path(unknown);
    const std::string shorter = file.lexically_relative(here).string();
    return fmt::format("{}:{}", shorter.empty() || shorter.starts_with("..") ? file.string() : shorter, line);
  }
  return "";
}

} // namespace

CallSite call_site() {
  static const void* const own = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(&call_site), &info);
    return info.dli_fbase;
  }();
  std::array<void*, 24> all;
  const int count = backtrace(all.data(), static_cast<int>(all.size()));
  CallSite site;
  for (int i = 0; i < count && site.size() < most_frames; ++i) {
    Dl_info info{};
    if (!dladdr(all[i], &info) || info.dli_fbase == own) continue;
    const auto* header = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
    const std::uint64_t base = header->e_type == ET_DYN ? reinterpret_cast<std::uint64_t>(info.dli_fbase) : 0;
    const std::uint64_t inside = reinterpret_cast<std::uint64_t>(all[i]) - 1; // in the call, not after it
    site.push_back({module_path(info.dli_fbase, info.dli_fname), inside - base});
  }
  return site;
}

std::string text(const CallSite& site) {
  for (std::size_t i = 0; i < site.size();) {
    std::vector<std::string> command{"addr2line", "-i", "-e", site[i].module};
    const std::string& module = site[i].module;
    for (; i < site.size() && site[i].module == module; ++i)
      command.push_back(fmt::format("0x{:x}", site[i].address));
    if (std::string place = first_of_program(output_of(std::move(command))); !place.empty()) return place;
  }
  if (site.empty()) return "?";
  return fmt::format("{}+0x{:x}", std::filesystem::path(site[0].module).filename().string(), site[0].address);
}

} // namespace warpfold::nccl
