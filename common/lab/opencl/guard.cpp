#include "opencl/guard.hpp"

#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <iterator>
#include <string>
#include <unistd.h>

namespace lab::opencl {
namespace {

constexpr unsigned seconds_a_run = 30;
constexpr int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM};

// Made beforehand: a signal handler may write what is ready, and do little else.
std::string when_stopped, when_endless;
struct sigaction before[std::size(signals)];

void tell(int signal) {
  const std::string& text = signal == SIGALRM ? when_endless : when_stopped;
  const auto written = write(STDOUT_FILENO, text.data(), text.size());
  _exit(written < 0 ? 2 : 1);
}

std::string verdict(const char* rung, const Options& options, const std::string& why) {
  if (options.tap) return fmt::format("not ok 1 - {}: {}\n1..1\n", rung, why);
  if (options.json) return fmt::format("{}: {}\n", rung, why);
  return fmt::format("{:<14} {}: {}\n", "wrong", rung, why);
}

} // namespace

Guard::Guard(const char* rung, const Options& options) {
  when_stopped =
      verdict(rung, options,
              "the kernel ended the program. It reads or writes where no element is, or not all items of "
              "a work-group come to the same barrier");
  when_endless = verdict(rung, options, fmt::format("the kernel has not ended after {} s", seconds_a_run));
  std::fflush(stdout);
  struct sigaction action = {};
  action.sa_handler = tell;
  for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &action, &before[i]);
}

Guard::~Guard() {
  for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &before[i], nullptr);
}

Stopwatch::Stopwatch() {
  alarm(seconds_a_run);
}

Stopwatch::~Stopwatch() {
  alarm(0);
}

} // namespace lab::opencl
