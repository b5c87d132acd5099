// The one piece of global state: what a process has of the emulated device. It is made at the first use and
// never destroyed, because programs call the runtime from static destructors and from atexit handlers.
#pragma once

#include "machine/address_space.hpp"
#include "machine/machine.hpp"
#include "registration.hpp"
#include "report_file.hpp"
#include "watch/checker.hpp"
#include "watch/report.hpp"
#include "watch/several.hpp"
#include "watch/touched_memory.hpp"
#include "watch/tracer.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace warpfold::runtime {

// What the environment (WARPFOLD_WORKERS, WARPFOLD_CHECKS, WARPFOLD_STEP_LIMIT, WARPFOLD_TIME_LIMIT,
// WARPFOLD_PRINT_LIMIT, WARPFOLD_GUARD_DEVICE_MEMORY) and warpfold_emulator_option set.
struct Options {
  std::atomic<unsigned> workers{0};          // 0: one per core
  std::atomic<std::uint64_t> step_limit{0};  // 0: the machine's default
  std::atomic<std::uint64_t> time_limit{0};  // milliseconds per launch; 0: none
  std::atomic<std::uint64_t> print_limit{0}; // lines of printf per launch; 0: all
  std::atomic<bool> interrupted{false};      // whatever runs is to stop, and nothing else to start
  std::atomic<bool> check_races{false}, check_initialisation{false}, check_leaks{false};
  std::atomic<bool> guard_device_memory{false}; // host_faults.hpp
};

class Runtime {
public:
  static Runtime& get();

  machine::AddressSpace memory;
  watch::Recorder recorder;
  Registry registry;
  Options options;
  ReportFile report_file, trace_file;
  std::atomic<bool> recording{false}; // launches are kept for a report
  std::mutex launch_mutex;            // one kernel at a time, whichever host thread it comes from

  // Null while no check is on. Made when first asked for, since its shadow of the memory is long.
  watch::Checker* checker();
  std::unique_ptr<watch::Tracer> tracer; // null unless the environment asks for one (WARPFOLD_TRACE)
  // What looks on while a kernel runs; null for nothing.
  machine::Watcher* watcher();

  // Stands before another watcher, and notes what a launch touches.
  machine::Watcher* notes_touches(machine::Watcher* next);
  std::vector<watch::TouchedRange> take_touches() { return touched_->take(); }

  // The report, with what is known only when it is asked for: refused launches whose error the program never
  // looked at and, at the end of the process, memory that was never freed.
  std::string report(bool at_exit);

private:
  Runtime();
  std::mutex checker_mutex_;
  std::unique_ptr<watch::Checker> checker_;
  std::unique_ptr<watch::Several> checker_and_tracer_;
  std::unique_ptr<watch::TouchedMemory> touched_;
};

// Sets an option by its name in warpfold_emulator.h. False where the name or the value is not known.
bool set_option(Options& options, const std::string& name, const std::string& value);

} // namespace warpfold::runtime
