#include "runtime/reporting/call_sites.hpp"

#include "machine/demangled.hpp"
#include "source_lines.hpp"

#include <array>
#include <dlfcn.h>
#include <execinfo.h>
#include <map>
#include <mutex>
#include <sys/auxv.h>
#include <utility>

namespace warpfold::runtime {
namespace {

constexpr std::size_t kept = 8;

const void* base_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

bool is_of_program(const SourcePlace& place, const std::string& kernel) {
  return place.line != 0 && !place.is_of_system() && !place.is_in_stub() &&
         (kernel.empty() || machine::demangled(place.function) != kernel);
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

std::string library_function(const std::vector<std::uint64_t>& frames) {
  static const void* const program = base_of(reinterpret_cast<const void*>(getauxval(AT_PHDR)));
  const void* library = nullptr;
  std::string name;
  for (const std::uint64_t frame : frames) {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void*>(frame), &info) || info.dli_fbase == program) break;
    if (std::exchange(library, info.dli_fbase) != info.dli_fbase && !name.empty()) break;
    if (info.dli_sname) name = machine::demangled(info.dli_sname);
  }
  return name;
}

namespace {

machine::SourceLine ask_for_line(const std::vector<std::uint64_t>& frames, const std::string& kernel) {
  for (std::size_t i = 0; i < frames.size();) {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void*>(frames[i]), &info)) {
      ++i;
      continue;
    }
    std::vector<std::uint64_t> addresses;
    const void* const base = info.dli_fbase;
    for (const void* frame; i < frames.size() && base_of(frame = reinterpret_cast<void*>(frames[i])) == base;
         ++i)
      addresses.push_back(address_in_file(frame, base));
    for (const SourcePlace& place : source_places(info.dli_fname, addresses))
      if (is_of_program(place, kernel)) return {place.file, place.line};
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
