#include "run/watchdog.hpp"

#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/host_place.hpp"
#include "run/processes.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <poll.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace lab {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int asking[] = {SIGINT, SIGTERM, SIGHUP}, crashing[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
// The emulator's own limit for a launch must come first, since it knows where the kernel was; and after an
// interrupt, the host function gets time to return.
constexpr Seconds after_the_emulators(0.5), to_come_back(1);
// On a busy machine, a run gets only part of the processor's time. One that has had less than this part may
// go on, up to so many times as long, and as long as it has waited for a processor.
constexpr double least_part = 0.5, most_patience = 3;
// A run that launches too often may do so for so long.
constexpr Seconds before_it_is_for_ever(2);
// For the search for a reason: processor time of this process, and, for a busy machine, elapsed time.
constexpr Seconds for_reasons(3), for_reasons_at_most(8);
constexpr Seconds for_one_reason(2); // elapsed, where many processors use up the time for reasons quickly

std::atomic<int> other_process = 0;

Seconds processor_time() {
  const auto time_of = [](clockid_t clock) {
    timespec now = {};
    clock_gettime(clock, &now);
    return Seconds(static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec));
  };
  clockid_t other = 0;
  const bool has_other = other_process != 0 && clock_getcpuclockid(other_process, &other) == 0;
  return time_of(CLOCK_PROCESS_CPUTIME_ID) + (has_other ? time_of(other) : Seconds(0));
}

// How long this process's threads could run and were not let to: the second number in Linux's schedstat.
// Since the process began, as asking costs too much to do it before each run.
Clock::duration wait_for_processors() {
  std::int64_t sum = 0;
  std::error_code failed;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    std::ifstream file(thread.path() / "schedstat");
    std::int64_t had = 0, waited = 0;
    if (file >> had >> waited) sum += waited;
  }
  return std::chrono::nanoseconds(sum);
}

Clock::time_point in(Seconds seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds);
}

constexpr auto no_limit = static_cast<std::size_t>(-1);

struct Watch {
  std::mutex mutex;
  Seconds per_run{10};
  std::optional<Clock::time_point> run_ends, reasons_end;
  Seconds reasons_begin{}, run_begin{}; // processor time
  Clock::time_point run_ends_at_last;
  std::size_t most_launches = 0, launches_before = 0; // of this run, and before it
  Clock::time_point run_began;
  bool matters = true;
  bool stopped = false; // from then on, the device takes no more launches
  Clock::time_point stopped_at;
  std::function<void(const Ending&)> end;
  std::function<bool()> is_lost;
};
Watch& state() {
  static Watch* const only = new Watch; // never freed: the watchdog's thread lives as long as the process
  return *only;
}

std::atomic<int> asked = 0; // the signal
int pipe_ends[2] = {-1, -1};
struct sigaction before[64];
thread_local bool is_watchdog = false;
bool on_the_emulator = false;
int (*emulator_takes_fault)(const void* info, void* context) = nullptr;

// A signal handler may do next to nothing, so it passes the signal's number to the thread.
void pass_on(int signal) {
  const int error = errno;
  const auto number = static_cast<unsigned char>(signal);
  [[maybe_unused]] const auto written = write(pipe_ends[1], &number, 1);
  errno = error;
}

void on_asked(int signal) {
  asked = signal;
  forward_to_child(signal);
  pass_on(signal);
}

void on_crash(int signal, siginfo_t* info, void* context) {
  if (is_watchdog) {
    sigaction(signal, &before[signal], nullptr);
    return; // the instruction crashes once more
  }
  if (signal == SIGSEGV && emulator_takes_fault && emulator_takes_fault(info, context) != 0) return;
  note_host_place(context);
  pass_on(signal);
  for (;;) pause();
}

bool is_crash(int signal) {
  for (const int one : crashing)
    if (one == signal) return true;
  return false;
}

// The number that is passed on when the host function has ended the program, and the process whose exits are
// explained: a child of the host function's ends as it likes.
constexpr int exiting = 0;
pid_t explained_process = 0;
std::string exit_call; // written before it is passed on

bool is_of_this_program(const void* address) {
  Dl_info of_address{}, own{};
  return dladdr(address, &of_address) && dladdr(reinterpret_cast<const void*>(&is_of_this_program), &own) &&
         of_address.dli_fbase == own.dli_fbase;
}

// On the thread that ends the program, which waits here until the watchdog's thread has reported that.
void on_exit_by(const std::string& call, const void* return_address) {
  if (is_watchdog || getpid() != explained_process || !is_watching_a_run()) return;
  exit_call = call;
  note_host_place_of_call(return_address);
  pass_on(exiting);
  for (;;) pause();
}

void act_on(int signal) {
  if (child_is_running()) return; // the child was notified, and returns what it has found
  std::function<void(const Ending&)> end;
  const Ending::Why why = signal == exiting  ? Ending::Why::exited
                          : is_crash(signal) ? Ending::Why::crashed
                                             : Ending::Why::asked;
  Ending ending{why, signal, false, signal == exiting ? exit_call : ""};
  {
    std::lock_guard lock(state().mutex);
    end = state().end;
    ending.matters = state().matters;
    if (is_crash(signal) && !state().run_ends) end_by(signal); // not in a student's code
  }
  interrupt_device();
  end(ending);
}

bool launches_for_ever() {
  if (!on_the_emulator || state().most_launches == no_limit) return false;
  const bool has_taken_long = Clock::now() > state().run_began + before_it_is_for_ever;
  return has_taken_long && launches_so_far() > state().launches_before + state().most_launches;
}

// One run alone uses up the time for reasons, and what it would show comes too late.
bool is_no_help() {
  const bool has_taken_long = Clock::now() > state().run_began + for_one_reason;
  return state().reasons_end && has_taken_long && processor_time() - state().run_begin > for_reasons;
}

bool takes_too_long() {
  if (is_no_help()) return true;
  if (Clock::now() < *state().run_ends) return false;
  const bool had_time = processor_time() - state().run_begin > least_part * state().per_run;
  return had_time || state().reasons_end || Clock::now() >= state().run_ends_at_last + wait_for_processors();
}

void look_at_the_clock() {
  std::unique_lock lock(state().mutex);
  if (!state().run_ends) return;
  if (!state().stopped) {
    if (!takes_too_long() && !launches_for_ever()) return;
    state().stopped = true, state().stopped_at = Clock::now();
    lock.unlock();
    interrupt_device();
  } else if (Clock::now() > state().stopped_at + (on_emulator() ? to_come_back : Seconds(0))) {
    const auto end = state().end;
    const Ending ending{Ending::Why::endless, 0, state().matters, ""};
    lock.unlock();
    end(ending);
  }
}

void look_for_the_lost() {
  if (!state().is_lost || !state().is_lost()) return;
  std::unique_lock lock(state().mutex);
  const auto end = state().end;
  const Ending ending{Ending::Why::lost, 0, state().matters, ""};
  lock.unlock();
  interrupt_device();
  end(ending);
}

void watch() {
  is_watchdog = true;
  for (;;) {
    constexpr int milliseconds = 20;
    pollfd readable{pipe_ends[0], POLLIN, 0};
    unsigned char signal = 0;
    if (poll(&readable, 1, milliseconds) > 0 && read(pipe_ends[0], &signal, 1) == 1) act_on(signal);
    look_at_the_clock();
    look_for_the_lost();
  }
}

} // namespace

void start_watchdog(double seconds, std::function<void(const Ending&)> end, std::function<bool()> is_lost,
                    bool explains_crashes) {
  state().per_run = Seconds(seconds), state().end = std::move(end), state().is_lost = std::move(is_lost);
  remember_main_thread();
  emulator_takes_fault =
      reinterpret_cast<decltype(emulator_takes_fault)>(dlsym(RTLD_DEFAULT, "warpfold_emulator_takes_fault"));
  on_the_emulator = emulator_takes_fault != nullptr;
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return;
  const auto handle = [](int signal, void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, &before[signal]);
    // What the shell had this process ignore (nohup) stays ignored.
    if (before[signal].sa_handler == SIG_IGN) sigaction(signal, &before[signal], nullptr);
  };
  for (const int signal : asking) handle(signal, on_asked);
  for (const int signal : crashing) {
    if (!explains_crashes) break;
    struct sigaction action = {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, &before[signal]);
  }
  std::thread(watch).detach();
}

void explain_exits() {
  explained_process = getpid();
  on_exit([](int code, void*) { on_exit_by(fmt::format("exit({})", code), __builtin_return_address(0)); },
          nullptr);
  at_quick_exit([] { on_exit_by("quick_exit()", __builtin_return_address(0)); });
}

bool is_watching_a_run() {
  std::lock_guard lock(state().mutex);
  return state().run_ends.has_value();
}

WatchedRun::WatchedRun(std::size_t most_launches) {
  std::lock_guard lock(state().mutex);
  state().most_launches = most_launches;
  state().launches_before = on_the_emulator ? launches_so_far() : 0;
  state().run_began = Clock::now();
  state().matters = !state().reasons_end;
  state().run_begin = processor_time();
  state().run_ends = in(state().per_run + after_the_emulators);
  state().run_ends_at_last = in(most_patience * (state().per_run + after_the_emulators));
  if (state().reasons_end) state().run_ends = std::min(*state().run_ends, *state().reasons_end);
}

WatchedRun::~WatchedRun() {
  std::lock_guard lock(state().mutex);
  state().run_ends.reset();
}

bool WatchedRun::was_stopped() const {
  std::lock_guard lock(state().mutex);
  return state().stopped;
}

SearchForReasons::SearchForReasons() {
  std::lock_guard lock(state().mutex);
  state().reasons_end = in(for_reasons_at_most), state().reasons_begin = processor_time();
}

SearchForReasons::~SearchForReasons() {
  std::lock_guard lock(state().mutex);
  state().reasons_end.reset();
}

bool SearchForReasons::is_over() const {
  std::lock_guard lock(state().mutex);
  return !state().reasons_end || Clock::now() >= *state().reasons_end ||
         processor_time() - state().reasons_begin > for_reasons;
}

bool SearchForReasons::takes_long() const {
  std::lock_guard lock(state().mutex);
  return !state().reasons_end || processor_time() - state().reasons_begin > for_reasons / 3;
}

void count_processor_time_of(int process) {
  other_process = process;
}

double seconds_per_run() {
  return state().per_run.count();
}

double seconds_of_stopped_run() {
  std::lock_guard lock(state().mutex);
  return std::min(state().per_run, Seconds(state().stopped_at - state().run_began)).count();
}

void end_by(int signal) {
  sigaction(signal, &before[signal], nullptr); // the emulator's, say, which writes its report
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  kill(getpid(), signal);
  std::this_thread::sleep_for(Seconds(5)); // the signal may be delivered to another thread
  _exit(128 + signal);
}

void end_if_asked() {
  if (asked != 0) end_by(asked);
}

} // namespace lab

// In place of the C library's functions, which report nothing. A library's own calls are none of the rung's.
extern "C" {

void _exit(int code) { // NOLINT(bugprone-reserved-identifier)
  const void* const return_address = __builtin_return_address(0);
  if (lab::is_of_this_program(return_address))
    lab::on_exit_by(fmt::format("_exit({})", code), return_address);
  for (;;) syscall(SYS_exit_group, code);
}

void _Exit(int code) noexcept { // NOLINT(bugprone-reserved-identifier)
  const void* const return_address = __builtin_return_address(0);
  if (lab::is_of_this_program(return_address))
    lab::on_exit_by(fmt::format("_Exit({})", code), return_address);
  for (;;) syscall(SYS_exit_group, code);
}
}
