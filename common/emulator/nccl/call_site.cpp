#include "call_site.hpp"

#include "source_lines.hpp"

#include <array>
#include <dlfcn.h>
#include <execinfo.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <mutex>

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
    const std::uint64_t after = address_in_file(all[i], info.dli_fbase);
    site.push_back({module_path(info.dli_fbase, info.dli_fname), after - 1}); // in the call
  }
  return site;
}

std::string text(const CallSite& site) {
  for (std::size_t i = 0; i < site.size();) {
    std::vector<std::uint64_t> addresses;
    const std::string& module = site[i].module;
    for (; i < site.size() && site[i].module == module; ++i) addresses.push_back(site[i].address);
    for (const SourcePlace& place : source_places(module, addresses))
      if (place.line != 0 && !place.is_of_system()) return place.text();
  }
  if (site.empty()) return "?";
  return fmt::format("{}+0x{:x}", std::filesystem::path(site[0].module).filename().string(), site[0].address);
}

} // namespace warpfold::nccl
