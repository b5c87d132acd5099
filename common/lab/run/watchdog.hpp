// Ends what does not end by itself: a run that takes longer than it may, and the program when a signal asks
// for it or a rung's host function crashes. In each case, what was found so far is reported first.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace lab {

// Why the program must end now.
struct Ending {
  // lost: another process on which the run depends; exited: by the rung's host function
  enum class Why { endless, crashed, asked, lost, exited };
  Why why{};
  int signal = 0;       // crashed, asked
  bool matters = false; // endless, crashed, exited: the run decides whether the rung is right (WatchedRun)
  std::string call;     // exited: "exit(0)"
};

// From now on, runs are watched. `end` is called on a thread of its own, wherever the main thread is, and
// must not return. On the emulator, a run that takes too long is stopped on the device, and `end` is called
// only if the host function does not return even then. `is_lost`, if there is one, is called on that thread
// every few milliseconds. `explains_crashes`: a crash is the rung's, and is explained by `end`; otherwise it
// ends the process as it would without a watchdog.
void start_watchdog(double seconds_per_run, std::function<void(const Ending&)> end,
                    std::function<bool()> is_lost = {}, bool explains_crashes = true);

// From now on, a run whose host function ends the program (exit, quick_exit, _exit) is explained by `end`
// too. After start_watchdog().
void explain_exits();

// Whether a run is under way (WatchedRun).
bool is_watching_a_run();

// One run of a rung, from the call of its host function until the device has finished.
class WatchedRun {
public:
  // A run that matters gets all the seconds that a run may take. One that does not, because the rung is wrong
  // anyway, gets what is left of the time for the search for the reason. On the emulator, a run is stopped
  // sooner if it launches more than `most_launches` kernels in a few seconds: then the host function is in a
  // loop that does not end.
  explicit WatchedRun(std::size_t most_launches = static_cast<std::size_t>(-1));
  ~WatchedRun();
  WatchedRun(const WatchedRun&) = delete;
  WatchedRun& operator=(const WatchedRun&) = delete;

  bool was_stopped() const; // if so, the device is lost
};

// While this object lives, runs do not matter, and all of them together get a few seconds.
class SearchForReasons {
public:
  SearchForReasons();
  ~SearchForReasons();
  SearchForReasons(const SearchForReasons&) = delete;
  SearchForReasons& operator=(const SearchForReasons&) = delete;

  bool is_over() const;
  bool takes_long() const; // a third of the time is used up
};

// From now on, the processor time of this other process counts towards the search for reasons too.
void count_processor_time_of(int process);

double seconds_per_run();
double seconds_of_stopped_run(); // how long it had taken by then

// Ends this process as the signal would have ended it.
[[noreturn]] void end_by(int signal);

// Ends it if a signal asked for that while another process ran the rungs (processes.hpp).
void end_if_asked();

} // namespace lab
