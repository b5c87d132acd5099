// A rung that runs in several processes at once, one per device: mpirun or srun has started this program as
// often as there are devices. Rank 0 checks the rung; the others do whatever it tells them, until it tells
// them to end.
#pragma once

#include "run/emulator.hpp"
#include "run/runner.hpp"

#include <memory>
#include <optional>

namespace lab {

// Whether this process was started as one of several, going by the environment.
bool started_as_rank();

// The command that starts `count` processes on this machine, or nothing if there is none (mpirun).
std::optional<std::vector<std::string>> launcher(unsigned count);
// The environment in which it may start more processes than there are cores, also for root in a container.
void allow_launcher();

// The number of this process among those on the same machine, going by the environment; 0 if it is alone.
int local_rank();
// How many of them there are, or 0 if the environment does not say.
unsigned local_ranks();

// This process's device, if it is one of several processes: device 0, or the first that no other has.
int device_of_rank();

// NCCL's stand-in is to tell a rank that never comes before the run, which may take so many seconds, is
// ended.
void limit_nccl(double seconds_per_run);

// Once, in each process that was started as a rank. Rank 0 returns, and the others as well, which then
// serve(). A run may take so many seconds, which is shared out among those who wait.
void join_ranks(const Processes& processes, double seconds_per_run);
// Of this process, and how many there are; 0 and 1 if they have not been joined.
int rank();
unsigned ranks();

// On ranks other than 0: runs the variant as often as rank 0 does, on its part of the same inputs.
void serve(const Variant& variant);
// On rank 0: ends serve() everywhere.
void dismiss_ranks();

// On rank 0, before it does the same itself: the other ranks run on their parts of this input. With
// `counted`, they count from there on what they do.
void run_on_other_ranks(const Case& given, const Sequence& input, bool counted);
// After it: the first error that one of the others had, and "" if none had any.
std::string error_of_other_ranks();
// This rank's error and one of another's as one, which may be the same one seen from both.
std::string joined_errors(const std::string& own, const std::string& of_another);
// Rank 0 times runs that all ranks begin at the same time, each on its part of this input, which stays where
// it is.
class RunsTogether {
public:
  RunsTogether(const Variant& variant, const Sequence& input, unsigned block);
  ~RunsTogether();
  RunsTogether(const RunsTogether&) = delete;
  RunsTogether& operator=(const RunsTogether&) = delete;

  // One run, in microseconds on the host's clock: from when all ranks were ready until this rank's device is
  // idle. Throws DeviceError, also for a run that failed on another rank.
  double once();

  // The others' part: runs as often as rank 0 does.
  static void on_another_rank(const Variant& variant, const Sequence& input, unsigned block);

private:
  struct Own;
  const Variant& variant_;
  std::unique_ptr<Own> own_;
  bool has_failed_ = false;
};

// What the other ranks have recorded; nothing if there are none.
std::vector<std::string> reports_of_other_ranks();

} // namespace lab
