// The one piece of global state: the process's view of the emulated device. It is created at the first use
// and never destroyed, because programs call the runtime from static destructors and from atexit handlers.
#pragma once

#include "analysis/checker.hpp"
#include "analysis/provenance.hpp"
#include "analysis/report.hpp"
#include "analysis/several.hpp"
#include "analysis/touched_memory.hpp"
#include "analysis/tracer.hpp"
#include "machine/address_space.hpp"
#include "machine/machine.hpp"
#include "runtime/code/registration.hpp"
#include "runtime/launches/both_orders.hpp"
#include "runtime/launches/progress.hpp"
#include "runtime/reporting/report_file.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

namespace warpfold::runtime {

// The settings from the environment (WARPFOLD_WORKERS, WARPFOLD_CHECKS, WARPFOLD_BOTH_ORDERS,
// WARPFOLD_STEP_LIMIT, WARPFOLD_TIME_LIMIT, WARPFOLD_SCHEDULE, WARPFOLD_PRINT_LIMIT,
// WARPFOLD_GUARD_DEVICE_MEMORY) and warpfold_emulator_option.
constexpr auto no_print_limit = static_cast<std::int64_t>(1) << 62;
struct Options {
  std::atomic<unsigned> workers{0};                      // 0: one per core
  std::atomic<std::uint64_t> step_limit{0};              // 0: the machine's default
  std::atomic<std::uint64_t> time_limit{0};              // milliseconds per launch; 0: none
  std::atomic<std::uint64_t> print_limit{0};             // lines of printf per launch; 0: all
  std::atomic<std::int64_t> prints_left{no_print_limit}; // lines of printf of all launches to come
  std::atomic<machine::Schedule::Order> schedule{machine::Schedule::Order::forwards};
  std::atomic<std::uint64_t> schedule_seed{0};
  std::atomic<bool> ends_only{false};   // of each grid, only the blocks at its ends run
  std::atomic<bool> interrupted{false}; // what runs must stop, and nothing else may start
  std::atomic<bool> check_races{false}, check_initialisation{false}, check_leaks{false};
  std::atomic<BothOrders> both_orders{BothOrders::off}; // only while races are checked
  std::atomic<bool> guard_device_memory{false};         // host_faults.hpp
};

class Runtime {
public:
  static Runtime& get();

  machine::AddressSpace memory; // of all devices
  machine::PeerAccess peers;
  analysis::Recorder recorder;
  Registry registry;
  Options options;
  ReportFile report_file, trace_file;
  Progress progress;
  std::atomic<bool> checks_go_on{false}; // the last fault was a bad access that the checks prevented
  std::atomic<bool> recording{false};    // launches are recorded for a report
  // One kernel at a time on each device, whichever host thread it comes from.
  std::mutex launch_mutex[machine::most_devices];
  SecondOrder second_order;
  std::shared_mutex contents; // of device memory: shared by copies and fills, alone for a second order

  // The devices that the program sees, as numbers of the machine's devices.
  int device_count() const { return static_cast<int>(visible_.size()); }
  int visible_device(int device) const { return visible_[static_cast<std::size_t>(device)]; }
  // Gives the machine so many devices. False once memory has been allocated.
  bool set_devices(int count);

  // Null while no check is on. Created when first needed, since its shadow memory is large.
  analysis::Checker* checker();
  std::unique_ptr<analysis::Tracer> tracer; // null unless the environment asks for one (WARPFOLD_TRACE)
  // While it is there, it watches alone. Set between launches.
  std::unique_ptr<analysis::Provenance> provenance;
  // The watcher of a running kernel; null if there is none.
  machine::Watcher* watcher();

  // Records what a launch accesses, in front of the watcher of running kernels.
  class Touches {
  public:
    Touches(Runtime& runtime, machine::Watcher* next);
    ~Touches();
    Touches(const Touches&) = delete;
    Touches& operator=(const Touches&) = delete;
    machine::Watcher* watcher() { return touched_.get(); }
    std::vector<analysis::TouchedRange> take() { return touched_->take(); }

  private:
    Runtime& runtime_;
    std::unique_ptr<analysis::TouchedMemory> touched_;
  };

  // The report, including what is known only when it is requested: refused launches whose error the program
  // never checked and, at the end of the process, memory that was never freed.
  std::string report(bool at_exit);

private:
  Runtime();
  std::mutex checker_mutex_;
  std::unique_ptr<analysis::Checker> checker_;
  std::unique_ptr<analysis::Several> checker_and_tracer_;
  std::vector<std::unique_ptr<analysis::TouchedMemory>> unused_touched_; // kept for the next launches
  std::vector<int> visible_;
};

// Sets an option by its name in warpfold_emulator.h. False if the name or the value is not known.
bool set_option(Options& options, const std::string& name, const std::string& value);

} // namespace warpfold::runtime
