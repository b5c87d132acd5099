#include "runtime/reporting/signals.hpp"

#include "runtime/ordering/ordering.hpp"
#include "runtime/runtime.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <thread>
#include <unistd.h>

namespace warpfold::runtime {

namespace {

std::atomic<bool> is_ending = false, someone_waits = false;

// A handler may do almost nothing, so it passes the signal's number to a thread through a pipe.
int pipe_ends[2] = {-1, -1};

void pass_on(int signal) {
  const int before = errno;
  const auto number = static_cast<unsigned char>(signal);
  [[maybe_unused]] const auto written = write(pipe_ends[1], &number, 1);
  errno = before;
}

// Ends the process as the signal would have ended it, so that a shell sees what it expects.
[[noreturn]] void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  kill(getpid(), signal);
  _exit(128 + signal);
}

void wait_for_signal(Runtime& runtime) {
  unsigned char signal = 0;
  while (read(pipe_ends[0], &signal, 1) != 1)
    if (errno != EINTR) return;
  is_ending = true;
  runtime.options.interrupted = true;
  ordering::note_host_accesses(); // one of these may be the cause
  // A kernel notices within a slice of its blocks; one that does not is ended without a report.
  using namespace std::chrono_literals;
  int device = 0;
  for (int tries = 0; tries < 200 && device < runtime.memory.devices(); ++tries) {
    while (device < runtime.memory.devices() && runtime.launch_mutex[device].try_lock()) ++device;
    if (device < runtime.memory.devices()) std::this_thread::sleep_for(10ms);
  }
  const bool all_stopped = device == runtime.memory.devices();
  if (all_stopped && runtime.report_file.wanted()) runtime.report_file.write(runtime.report(false));
  runtime.progress.write();
  end_by(signal);
}

bool is_left_to_us(int signal) {
  struct sigaction known {};
  return sigaction(signal, nullptr, &known) == 0 && known.sa_handler == SIG_DFL;
}

} // namespace

void report_before_signals_end_this_process(Runtime& runtime) {
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return;
  bool any = false;
  for (const int signal : {SIGINT, SIGTERM}) {
    if (!is_left_to_us(signal)) continue;
    struct sigaction action {};
    action.sa_handler = pass_on;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    any |= sigaction(signal, &action, nullptr) == 0;
  }
  if (any) std::thread(wait_for_signal, std::ref(runtime)).detach();
  someone_waits = any;
}

void end_this_process_by(int signal) {
  if (!someone_waits) end_by(signal);
  pass_on(signal);
  for (;;) pause();
}

void stay_if_a_signal_ends_this_process() {
  while (is_ending) pause();
}

} // namespace warpfold::runtime
