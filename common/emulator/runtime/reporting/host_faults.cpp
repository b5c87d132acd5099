#include "runtime/reporting/host_faults.hpp"

#include "runtime/devices/devices.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/signals.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/host_functions.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <execinfo.h>
#include <mutex>
#include <span>
#include <sys/mman.h>
#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

namespace warpfold::runtime {
namespace {

// The handlers read only arrays of fixed length: they may neither allocate nor wait for the thread that they
// have interrupted.
struct Closed {
  BusyRange range;
  std::atomic<bool> open{false};  // a fault has been recorded, so the host may continue
  std::atomic<unsigned> known{0}; // accesses that come after the work, perhaps
};
std::array<Closed, most_closed> closed;
std::atomic<std::size_t> closed_count{0};
std::atomic<bool> changing{false}; // which pages are closed
std::array<HostFault, most_faults> faults;
std::atomic<std::size_t> fault_count{0};

std::recursive_mutex& mutex =
    *new std::recursive_mutex; // held to open or close pages; never destroyed, because programs do so at exit
int users_of_device_memory = 0;
std::atomic<bool> guarded{false};

struct sigaction before_segv = {};
[[maybe_unused]] struct sigaction before_trap = {}; // of a single step, which only x86-64 takes

// Pages that are open for the one instruction that the thread is about to execute. They are in the static
// thread-local block, which always exists, because a handler must not allocate. A gather reads 16 words, each
// of which may lie on two pages.
constexpr std::size_t most_stepping = 32;
struct Step {
  std::size_t count = 0;
  std::uint64_t pages[most_stepping];
  std::uint64_t last_fault = 0;
  unsigned same_fault = 0;
};
__attribute__((tls_model("initial-exec"))) thread_local Step step;

void set_rights(const BusyRange& range, int rights) {
  mprotect(reinterpret_cast<void*>(range.first_page), range.pages_end - range.first_page, rights);
}
void close(const BusyRange& range) {
  set_rights(range, range.written ? PROT_NONE : PROT_READ);
}

bool is_write(const ucontext_t& context) {
#if defined(__x86_64__)
  return context.uc_mcontext.gregs[REG_ERR] & 2;
#else
  static_cast<void>(context);
  return false; // not known; reported as a read
#endif
}

std::uint64_t instruction(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
#else
  return context.uc_mcontext.pc;
#endif
}

void note(std::uint64_t address, const ucontext_t& context, const BusyRange* busy) {
  const std::size_t index = fault_count.fetch_add(1);
  if (index >= most_faults) return;
  HostFault& fault = faults[index];
  fault.address = address;
  fault.is_write = is_write(context);
  fault.at = instruction(context);
  fault.of_device = busy == nullptr;
  fault.by = ordering::work_of_thread();
  if (busy) fault.actor = busy->actor, fault.number = busy->number;
  fault.frame_count = backtrace(fault.frames, HostFault::most_frames);
}

// Passes a signal that is not ours to the handler that was installed before.
void pass_to(const struct sigaction& before, int signal, siginfo_t* info, void* context) {
  if (before.sa_flags & SA_SIGINFO && before.sa_sigaction) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler == SIG_IGN) return;
  if (before.sa_handler != SIG_DFL) return before.sa_handler(signal);
  sigaction(signal, &before, nullptr); // the faulting instruction is executed again and ends the process
  if (signal == SIGTRAP || info->si_code <= 0) kill(getpid(), signal); // a signal that was sent is sent again
}

void on_device_memory(std::uint64_t address, const ucontext_t& context) {
  Runtime& runtime = Runtime::get();
  note(address, context, nullptr);
  const bool checks = runtime.options.check_races || runtime.options.check_initialisation;
  if (!checks) end_this_process_by(SIGSEGV);
  runtime.memory.open_to_host();
}

bool holds(const Closed& entry, std::uint64_t address) {
  return address >= entry.range.first_page && address < entry.range.pages_end;
}

// Lets the instruction continue; afterwards, its page is closed again for what it has not used.
bool step_over(std::uint64_t address, ucontext_t& context) {
#if defined(__x86_64__)
  constexpr greg_t trap_flag = 0x100;
  if (step.count == most_stepping) return false;
  step.pages[step.count++] = address;
  context.uc_mcontext.gregs[REG_EFL] |= trap_flag;
  return true;
#else
  static_cast<void>(address), static_cast<void>(context);
  return false;
#endif
}

// Where work goes on while the host does, it opens what it needs.
bool open_to_work(std::uint64_t address) {
  bool found = changing; // then the instruction is tried again
  for (std::size_t i = 0; i < closed_count; ++i) {
    if (!holds(closed[i], address) || closed[i].open) continue;
    closed[i].open = true;
    set_rights(closed[i].range, PROT_READ | PROT_WRITE);
    found = true;
  }
  return found;
}

// Each of them takes some microseconds. After so many, the memory is opened to all threads.
constexpr unsigned most_known = 4096;

bool on_busy_memory(std::uint64_t address, ucontext_t& context) {
  if (works_later() && (machine::executes_kernel() || ordering::work_of_thread()))
    return open_to_work(address);
  const bool write = is_write(context);
  const std::size_t count = closed_count;
  bool found = false, hit = false;
  for (std::size_t i = 0; i < count; ++i) {
    const BusyRange& range = closed[i].range;
    if (!holds(closed[i], address) || closed[i].open) continue;
    if (address >= range.begin && address < range.end && (write || range.written)) {
      if (ordering::is_perhaps_known(range.actor, range.number)) {
        if (++closed[i].known >= most_known) closed[i].open = true;
      } else {
        if (!hit) note(address, context, &range);
        hit = true;
        closed[i].open = true;
      }
    }
    found = true;
    set_rights(range, PROT_READ | PROT_WRITE);
  }
  if (!found || step_over(address, context)) return found;
  for (std::size_t i = 0; i < count; ++i)
    if (holds(closed[i], address)) closed[i].open = true;
  return true;
}

} // namespace

bool takes_fault(const siginfo_t* info, void* context) {
  if (info->si_code != SEGV_ACCERR) return false;
  const auto address = reinterpret_cast<std::uint64_t>(info->si_addr);
  Runtime& runtime = Runtime::get();
  if (guarded && runtime.memory.is_of_device_alone(address)) {
    on_device_memory(address, *static_cast<ucontext_t*>(context));
    return true;
  }
  if (on_busy_memory(address, *static_cast<ucontext_t*>(context))) return true;
  // Another thread may have just opened it.
  constexpr unsigned patience = 100;
  step.same_fault = address == step.last_fault ? step.same_fault + 1 : 0;
  step.last_fault = address;
  return changing || (runtime.memory.reserves(address) && step.same_fault < patience);
}

namespace {

void on_segv(int signal, siginfo_t* info, void* context) {
  if (!takes_fault(info, context)) pass_to(before_segv, signal, info, context);
}

#if defined(__x86_64__)
void on_trap(int signal, siginfo_t* info, void* context) {
  if (step.count == 0) return pass_to(before_trap, signal, info, context);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~greg_t{0x100};
  const std::size_t count = closed_count;
  const std::span stepped(step.pages, step.count);
  for (std::size_t i = 0; i < count; ++i)
    if (!closed[i].open &&
        std::ranges::any_of(stepped, [&](std::uint64_t page) { return holds(closed[i], page); }))
      close(closed[i].range);
  step.count = 0;
}
#endif

void install() {
  static std::once_flag once;
  std::call_once(once, [] {
    void* none[1];
    backtrace(none, 1); // loads what it needs now, because a handler cannot
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = on_segv;
    sigaction(SIGSEGV, &action, &before_segv);
#if defined(__x86_64__)
    action.sa_sigaction = on_trap;
    sigaction(SIGTRAP, &action, &before_trap);
#endif
  });
}

} // namespace

void close_to_host(std::vector<BusyRange> ranges) {
  std::lock_guard lock(mutex);
  const std::size_t before = closed_count;
  // Of two ranges that share a page, the one that closes it completely must come last.
  std::stable_partition(ranges.begin(), ranges.end(), [](const BusyRange& range) { return !range.written; });
  // What is opened in order to be closed again does not show what the host does meanwhile.
  const auto is_closed = [](const BusyRange& range, const Closed& at) {
    return range == at.range && !at.open;
  };
  if (std::equal(ranges.begin(), ranges.end(), closed.begin(), closed.begin() + before, is_closed)) return;
  changing = true;
  closed_count = 0;
  for (std::size_t i = 0; i < before; ++i) set_rights(closed[i].range, PROT_READ | PROT_WRITE);
  if (ranges.empty()) {
    changing = false;
    return;
  }
  install();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    closed[i].range = ranges[i];
    closed[i].open = false;
    closed[i].known = 0;
  }
  for (const BusyRange& range : ranges) close(range);
  closed_count = ranges.size();
  changing = false;
}

std::vector<HostFault> take_host_faults() {
  if (fault_count.load(std::memory_order_relaxed) == 0) return {};
  std::lock_guard lock(mutex);
  const std::size_t count = std::min(fault_count.load(), most_faults);
  std::vector<HostFault> taken(faults.begin(), faults.begin() + static_cast<std::ptrdiff_t>(count));
  fault_count = 0;
  return taken;
}

void guard_device_memory(machine::AddressSpace& memory, bool wanted) {
  std::lock_guard lock(mutex);
  if (wanted == guarded) return;
  if (wanted) install();
  guarded = wanted;
  memory.guard(wanted && users_of_device_memory == 0);
}

// Counted while nothing is guarded, too: that may begin before the use ends.
DeviceMemoryInUse::DeviceMemoryInUse(bool used) : used_(used) {
  if (!used_) return;
  std::lock_guard lock(mutex);
  if (users_of_device_memory++ == 0 && guarded) Runtime::get().memory.guard(false);
}

DeviceMemoryInUse::~DeviceMemoryInUse() {
  if (!used_) return;
  std::lock_guard lock(mutex);
  if (--users_of_device_memory == 0 && guarded) Runtime::get().memory.guard(true);
}

} // namespace warpfold::runtime
