#include "runtime/memory/free_check.hpp"

#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/call_sites.hpp"
#include "runtime/runtime.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <vector>

namespace warpfold::runtime {
namespace {

// By the memory's first address: the callers of the last call that allocated or freed it.
struct Sites {
  std::mutex mutex;
  std::map<std::uint64_t, std::vector<std::uint64_t>> frames;

  static Sites& get() {
    static Sites& sites = *new Sites;
    return sites;
  }
};

void report(analysis::HazardCause cause, const std::string& message, std::uint64_t begin) {
  Runtime& runtime = Runtime::get();
  if (!runtime.checker()) return;
  analysis::Hazard hazard{analysis::HazardKind::bad_free, cause, message};
  hazard.where = line_of(ordering::frames_of_call(), "");
  Sites& sites = Sites::get();
  std::lock_guard lock(sites.mutex);
  if (const auto found = sites.frames.find(begin); found != sites.frames.end())
    hazard.other = line_of(found->second, "");
  runtime.recorder.add(std::move(hazard));
}

} // namespace

void note_owner(const void* begin) {
  if (!begin || !Runtime::get().checker()) return;
  std::vector<std::uint64_t> frames = ordering::frames_of_call();
  Sites& sites = Sites::get();
  std::lock_guard lock(sites.mutex);
  sites.frames[reinterpret_cast<std::uint64_t>(begin)] = std::move(frames);
}

void note_freed_twice(const char* caller, const machine::Allocation& freed) {
  report(analysis::HazardCause::freed_twice,
         fmt::format("{} frees {}, which has already been freed", caller, freed.label), freed.begin);
}

void note_freed_inside(const char* caller, const void* pointer, const machine::Allocation& allocation) {
  report(analysis::HazardCause::freed_inside,
         fmt::format("{} is called with byte {} of {}, not with its first byte", caller,
                     reinterpret_cast<std::uint64_t>(pointer) - allocation.begin, allocation.label),
         allocation.begin);
}

} // namespace warpfold::runtime
