// WARPFOLD_PROGRESS: a file that says what the emulator is doing and where its time went. It is replaced
// several times a second, so that somebody can watch, and once more when the process ends.
//
// All of it is wall time of this machine, which says nothing about a GPU's.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace warpfold::runtime {

enum class Doing : std::uint8_t { kernel, copying, loading };

class Progress {
public:
  // Starts the thread that keeps up the file.
  void write_to(const std::string& path);
  bool wanted() const { return !path_.empty(); }
  void write();

private:
  friend class Timed;
  using Clock = std::chrono::steady_clock;
  using Task = std::pair<Doing, std::string>; // with the kernel's name
  struct Spent {
    std::uint64_t times = 0;
    Clock::duration time{};
  };
  struct Begun {
    Task task;
    Clock::time_point at;
  };

  void begin(const Begun& begun);
  void end(const Begun& begun);
  std::string json() const;

  std::string path_;
  Clock::time_point start_{};
  mutable std::mutex mutex_;
  std::map<Task, Spent> spent_;
  std::set<const Begun*> under_way_;
  Clock::time_point busy_since_{}; // while something is under way
  Clock::duration busy_{};         // each moment counted once, however many devices work
};

// As long as this lives, the time counts as spent on that task.
class Timed {
public:
  explicit Timed(Doing doing, std::string kernel = {});
  ~Timed();
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

private:
  Progress::Begun begun_;
};

} // namespace warpfold::runtime
