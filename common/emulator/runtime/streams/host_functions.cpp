#include "runtime/streams/host_functions.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace warpfold::runtime::ordering {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Never destroyed: host functions may run while static destructors do.
struct Starts {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t waits = 0;   // of threads of the program
  Clock::duration left = 5s; // for all host functions together
};
Starts& starts() {
  static Starts* const only = new Starts;
  return *only;
}

// By actor: how many of its operations. The last element stands for all actors from there on.
std::array<std::atomic<std::uint32_t>, 4096> perhaps_complete;

std::size_t element_of(std::size_t actor) {
  return std::min(actor, perhaps_complete.size() - 1);
}

} // namespace

LateStart::LateStart() {
  std::lock_guard lock(starts().mutex);
  waits_before_ = starts().waits;
}

bool LateStart::wait() const {
  constexpr Clock::duration longest = 100ms;
  std::unique_lock lock(starts().mutex);
  const Clock::time_point begin = Clock::now();
  const auto has_waited = [&] { return starts().waits != waits_before_; };
  const bool waits = starts().changed.wait_for(lock, std::min(longest, starts().left), has_waited);
  starts().left = std::max<Clock::duration>(0s, starts().left - (Clock::now() - begin));
  return waits;
}

void host_functions_begin() {
  {
    std::lock_guard lock(starts().mutex);
    ++starts().waits;
  }
  starts().changed.notify_all();
}

void may_be_known(const analysis::Clock& view) {
  for (std::size_t actor = 0; actor < view.size(); ++actor) {
    std::atomic<std::uint32_t>& known = perhaps_complete[element_of(actor)];
    known = std::max(known.load(), view[actor]);
  }
}

bool is_perhaps_known(std::uint32_t actor, std::uint32_t number) {
  return perhaps_complete[element_of(actor)] >= number;
}

} // namespace warpfold::runtime::ordering
