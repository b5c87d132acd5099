// warpfold_emulator.h, and the report at the end of the process.
#include "runtime/launches/launch.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/call_sites.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/reporting/host_faults.hpp"
#include "runtime/reporting/report_file.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/stream_table.hpp"
#include "runtime/streams/streams.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace warpfold::runtime {

void ReportFile::write(const std::string& text) const {
  const std::string temporary = fmt::format("{}.{}.tmp", path_, getpid());
  std::ofstream file(temporary);
  file << text << '\n';
  file.close();
  if (!file || std::rename(temporary.c_str(), path_.c_str()) != 0) {
    say(fmt::format("cannot write the report to '{}': {}", path_, std::strerror(errno)));
    std::remove(temporary.c_str());
  }
}

void ReportFile::keep_up(bool has_new_hazard, const std::function<std::string()>& text) {
  constexpr int share = 20;                  // of the time that writing may take: one in so many
  constexpr std::chrono::seconds at_once{1}; // all in all, to write what is found without waiting
  constexpr std::chrono::seconds pause{5};
  if (!wanted()) return;
  std::lock_guard lock(mutex_);
  is_due_ |= has_new_hazard;
  const Clock::time_point now = Clock::now();
  const bool waits = !has_new_hazard || spent_ > at_once;
  const Clock::duration apart = is_due_ ? share * took_ : std::max<Clock::duration>(share * took_, pause);
  if (waits && now - written_ < apart) return;
  write(text());
  is_due_ = false;
  written_ = Clock::now();
  took_ = written_ - now;
  spent_ += took_;
}

namespace {

using analysis::HazardCause;
using analysis::HazardKind;

// One hazard for everything that is left, because nothing says where it was allocated.
void add_leaks(Runtime& runtime) {
  using machine::MemoryKind;
  constexpr std::size_t named = 5;
  std::size_t count = 0, bytes = 0;
  std::string labels;
  for (MemoryKind kind : {MemoryKind::device, MemoryKind::managed, MemoryKind::pinned})
    runtime.memory.each_live(kind, [&](const machine::Allocation& allocation) {
      bytes += allocation.size;
      if (count++ < named) labels += (labels.empty() ? "" : ", ") + allocation.label;
    });
  if (count == 0) return;
  if (count > named) labels += ", ...";
  const std::string where = count == 1 ? "one allocation" : fmt::format("{} allocations", count);
  runtime.recorder.add({HazardKind::leak, HazardCause::not_freed,
                        fmt::format("never freed: {} bytes in {} ({})", bytes, where, labels)});
}

void note_events_never_recorded() {
  StreamTable& table = StreamTable::get();
  std::lock_guard lock(table.mutex);
  for (const auto& [handle, event] : table.events) ordering::event_destroyed(*event);
}

} // namespace

std::string Runtime::report(bool at_exit) {
  if (at_exit) wait_for_all_devices();
  ordering::note_host_accesses();
  note_events_never_recorded();
  for (const RefusedLaunch& launch : take_refused_launches())
    recorder.add({launch.program_asked ? HazardKind::refused_launch : HazardKind::launch,
                  launch.program_asked ? HazardCause::refused_and_asked : HazardCause::refused_launch,
                  launch.message + (launch.program_asked ? "" : "; the program never checked for the error"),
                  line_of(launch.frames, launch.kernel)});
  // After a fault, cudaFree is refused, so what is left says nothing.
  if (at_exit && options.check_leaks && sticky_error() == cudaSuccess) add_leaks(*this);
  return recorder.json();
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

#pragma GCC visibility push(default)
#include "runtime/warpfold_emulator.h"
#pragma GCC visibility pop

extern "C" {

int warpfold_emulator_interface(void) {
  return 1;
}

void warpfold_emulator_reset(void) {
  Runtime& runtime = Runtime::get();
  ordering::note_host_accesses();
  ordering::forget_reports();
  runtime.recorder.reset();
  if (runtime.tracer) runtime.tracer->reset();
  take_refused_launches();
  runtime.recording = true;
}

const char* warpfold_emulator_report(void) {
  static std::string& text = *new std::string;
  static std::mutex& mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  text = Runtime::get().report(false);
  return text.c_str();
}

const char* warpfold_emulator_provenance(const void* results, size_t width, size_t count) {
  static std::string& text = *new std::string;
  const auto& provenance = Runtime::get().provenance;
  if (!provenance) return ""; // a lab asks after each of its runs
  wait_for_all_devices();
  const DeviceMemoryInUse open;
  text = provenance->json(results, width, count);
  return text.c_str();
}

int warpfold_emulator_follows_values(void) {
  return Runtime::get().provenance != nullptr;
}

void warpfold_emulator_made(const void* result, const void* const* sources, size_t source_count, size_t width,
                            size_t count, const char* operation, const char* call, const char* place) {
  if (const auto& provenance = Runtime::get().provenance)
    provenance->made(result, {sources, source_count}, width, count, {operation, call, place});
}

size_t warpfold_emulator_launches(void) {
  return Runtime::get().recorder.launch_count();
}

int warpfold_emulator_option(const char* name, const char* value) {
  Runtime& runtime = Runtime::get();
  if (name && value && std::string_view(name) == "variables" && std::string_view(value) == "initial") {
    wait_for_all_devices();
    runtime.registry.restore_variables();
    return 0;
  }
  if (!name || !value || !set_option(runtime.options, name, value)) return -1;
  guard_device_memory(runtime.memory, runtime.options.guard_device_memory && !runtime.options.ends_only);
  runtime.memory.expect_few_writes(runtime.options.ends_only);
  return 0;
}

int warpfold_emulator_takes_fault(const void* info, void* context) {
  return takes_fault(static_cast<const siginfo_t*>(info), context);
}

const char* warpfold_emulator_refusal(const char** call, const char** file, unsigned* line) {
  static thread_local std::string path;
  *call = "", *file = nullptr, *line = 0;
  RefusedCall* const refused = refused_call();
  if (!refused) return "";
  refused->is_known = true;
  const warpfold::machine::SourceLine at = line_of(refused->frames, refused->kernel);
  path = at.file;
  *call = refused->function.c_str();
  if (at.line != 0) *file = path.c_str(), *line = at.line;
  return refused->why.c_str();
}

void warpfold_emulator_fault(const char* message) {
  Runtime::get().recorder.add({HazardKind::nccl, HazardCause::failed_collective, message});
}

void warpfold_emulator_interrupt(void) {
  Runtime::get().options.interrupted = true;
}

void warpfold_emulator_input(const void* begin, size_t size) {
  warpfold::analysis::Checker* checker = Runtime::get().checker();
  if (!checker) return;
  if (begin)
    checker->restrict(begin, size, HazardCause::changed_input);
  else
    checker->lift(HazardCause::changed_input);
}

void warpfold_emulator_buffer(const void* begin, size_t size, int read, int write) {
  warpfold::analysis::Checker* checker = Runtime::get().checker();
  if (!checker) return;
  checker->lift(begin, size);
  if (!write) checker->restrict(begin, size, HazardCause::read_only_buffer);
  if (!read) checker->restrict(begin, size, HazardCause::write_only_buffer);
}

void warpfold_emulator_name(const void* begin, const char* name) {
  if (name) Runtime::get().memory.name(begin, name);
}
}
