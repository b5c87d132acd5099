#include "run/endings.hpp"

#include "run/host_place.hpp"
#include "run/in_this_process.hpp"

#include <csignal>
#include <cstring>
#include <fmt/format.h>

namespace lab {

std::string crash_text(int signal) {
  const bool by_address = signal == SIGSEGV || signal == SIGBUS;
  const std::string place = host_place();
  return fmt::format(
      "the rung ended the program ({}){}{}", strsignal(signal), place.empty() ? "" : " at " + place,
      by_address         ? ": code on the host reads or writes memory that it must not. `input` and `result` "
                           "point to device memory, which only kernels and cudaMemcpy can access"
      : signal == SIGFPE ? ": code on the host divides an integer by zero"
                         : "");
}

std::string no_return_text() {
  ask_for_host_place();
  const std::string place = host_place();
  return place.empty() ? no_end()
                       : fmt::format("{}: the host function does not return; it is at {}", no_end(), place);
}

std::string exception_text(const std::exception& error) {
  return fmt::format("the rung's host function ended with an exception that it does not catch: {}",
                     error.what());
}

std::string exit_text(const std::string& call) {
  const std::string place = host_place();
  return fmt::format("the rung's host function ended the program by {}{}; it must return, so that its result "
                     "can be checked",
                     call, place.empty() ? "" : " at " + place);
}

} // namespace lab
