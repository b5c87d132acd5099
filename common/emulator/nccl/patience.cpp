#include "patience.hpp"

#include "telling.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace warpfold::nccl {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Waiting takes a little of the processor, too, and a process that waits may be one that is missed.
constexpr std::chrono::milliseconds window{500};
constexpr double busy_share = 0.05;

constexpr double usual_limit = 10; // seconds

struct ProcessTime {
  bool has_ended = false;
  long long ticks = 0; // of the processor, used so far
};

// None if it is not known: a process of another namespace.
std::optional<ProcessTime> time_of(const Rank& rank) {
  struct stat own {};
  if (stat("/proc/self/ns/pid", &own) != 0 || own.st_ino != rank.pid_namespace) return {};
  std::ifstream file(fmt::format("/proc/{}/stat", rank.pid));
  if (!file) return ProcessTime{.has_ended = kill(rank.pid, 0) != 0 && errno == ESRCH};
  std::string line;
  std::getline(file, line);
  std::istringstream rest(line.substr(std::min(line.rfind(')') + 1, line.size()))); // past the name
  char state = 0;
  rest >> state;
  long long field = 0, used = 0;
  for (int i = 4; i <= 15 && rest >> field; ++i)
    if (i >= 14) used += field;
  return ProcessTime{.has_ended = state == 'Z' || state == 'X', .ticks = used};
}

std::string seconds_text(Seconds time) {
  return fmt::format("{:.3g} s", time.count());
}

bool may_come(Segment& segment, int rank) {
  const auto presence = static_cast<Presence>(segment.of(rank).presence.load());
  return presence == Presence::absent || presence == Presence::arriving || presence == Presence::here;
}

// Where a rank that is waited for stands.
std::string whereabouts(Segment& segment, int rank, bool has_called, bool has_ended) {
  Rank& whose = segment.of(rank);
  const auto presence = static_cast<Presence>(whose.presence.load());
  if (presence == Presence::absent) return "";
  if (presence == Presence::left) {
    const Call leave = segment.noted(whose.leave);
    return fmt::format("\n  {}: rank {} gives up its communicator", place_of(segment, rank, leave), rank);
  }
  if (whose.calls_in_group.load() > 0)
    return line_of(segment, rank, segment.noted(whose.in_group)) +
           " after ncclGroupStart, and its ncclGroupEnd has not come";
  const Call last = segment.noted(whose.last);
  if (last.kind == Kind::none) {
    const Call arrival = segment.noted(whose.arrival);
    return fmt::format("\n  {}: rank {} joined, and has called nothing since{}",
                       place_of(segment, rank, arrival), rank, has_ended ? "; its process has ended" : "");
  }
  return line_of(segment, rank, last) + (has_ended    ? ", and then its process ended"
                                         : has_called ? ", which its stream has not reached"
                                                      : " last");
}

class Patience {
public:
  Patience(Segment& segment, const Wanted& wanted) : segment_(segment), wanted_(wanted) {}

  bool wait() {
    while (true) {
      const std::uint32_t heard = segment_.shared().bell.load();
      if (segment_.has_failed()) return false;
      const std::vector<int> missing = missing_ranks();
      if (missing.empty()) return true;
      if (!judge(missing)) return false;
      segment_.wait_for_bell(heard);
    }
  }

private:
  std::vector<int> missing_ranks() const {
    std::vector<int> missing;
    std::ranges::copy_if(wanted_.ranks, std::back_inserter(missing),
                         [&](int rank) { return !wanted_.is_there(rank); });
    return missing;
  }

  // False: it was enough.
  bool judge(const std::vector<int>& missing) {
    const Clock::time_point now = Clock::now();
    if (missing.size() != seen_missing_) { // somebody came
      seen_missing_ = missing.size();
      idle_since_ = now;
    }
    if (now - looked_ < std::chrono::milliseconds(100)) return true;
    looked_ = now;
    std::vector<int> gone;
    long long ticks = 0;
    bool unknown = false, all_called = true, one_arrives = false;
    for (int rank : missing) {
      // What was done before it ended or left may be all that is wanted.
      const bool could_come = may_come(segment_, rank);
      const auto presence = static_cast<Presence>(segment_.of(rank).presence.load());
      const bool arrived = presence != Presence::absent;
      one_arrives |= presence == Presence::arriving;
      const std::optional<ProcessTime> time = arrived ? time_of(segment_.of(rank)) : std::nullopt;
      if ((!could_come && !wanted_.has_called(rank)) || (time && time->has_ended))
        if (!wanted_.is_there(rank)) gone.push_back(rank);
      if (time) ticks += time->ticks;
      unknown |= !time;
      all_called &= wanted_.has_called(rank);
    }
    if (!gone.empty()) return tell_gone(gone);
    if (now - window_began_ < window) return true;
    const double used = static_cast<double>(ticks - ticks_) / static_cast<double>(sysconf(_SC_CLK_TCK));
    if (used > busy_share * Seconds(now - window_began_).count()) idle_since_ = now;
    ticks_ = ticks;
    window_began_ = now;
    // A process may compute long before it joins, of which nothing is known.
    const Seconds idle = now - idle_since_, waited = now - began_, limit = time_limit();
    if (one_arrives && waited < limit * 30) return true; // within the call that joins it
    if (idle > limit * (unknown ? 3 : 1)) return tell_missing(missing, waited);
    if (waited > limit * (all_called ? 30 : 3)) return tell_missing(missing, waited);
    return true;
  }

  std::string own_line() const {
    if (wanted_.own.kind == Kind::none)
      return fmt::format("\n  {}: rank {} waits for the others to join",
                         place_of(segment_, segment_.rank(), wanted_.own), segment_.rank());
    return line_of(segment_, segment_.rank(), wanted_.own);
  }
  std::string what() const {
    return wanted_.own.kind == Kind::none ? "the communicator" : name_of(wanted_.own.kind);
  }
  // What the missing ranks should have done: "did not call ncclReduce". Who has called has a stream that is
  // late.
  std::string omission(const std::vector<int>& missing) const {
    if (wanted_.own.kind == Kind::none) return "did not join the communicator";
    const char* const did_not =
        std::ranges::any_of(missing, wanted_.has_called) ? "did not reach" : "did not call";
    if (wanted_.own.kind == Kind::send) return fmt::format("{} the ncclRecv for it", did_not);
    if (wanted_.own.kind == Kind::receive) return fmt::format("{} the ncclSend for it", did_not);
    return fmt::format("{} {}", did_not, what());
  }

  bool tell_gone(const std::vector<int>& gone) {
    std::string text = fmt::format("{} can no longer come to {}, where rank {} of {} waits", ranks_text(gone),
                                   what(), segment_.rank(), segment_.size());
    text += own_line();
    for (int rank : gone) {
      const std::optional<ProcessTime> time = time_of(segment_.of(rank));
      text += whereabouts(segment_, rank, wanted_.has_called(rank), time && time->has_ended);
    }
    text +=
        "\n  try:  Let every rank of a communicator make the same calls, in the same order, before it ends.";
    fail(segment_, ncclRemoteError, text);
    return false;
  }

  bool tell_missing(const std::vector<int>& missing, Seconds waited) {
    std::vector<int> came;
    for (int rank = 0; rank < segment_.size(); ++rank)
      if (rank == segment_.rank() ||
          (std::ranges::count(wanted_.ranks, rank) && !std::ranges::count(missing, rank)))
        came.push_back(rank);
    const bool is_between = wanted_.own.kind == Kind::send || wanted_.own.kind == Kind::receive;
    std::string text = is_between
                           ? fmt::format("{} waits in {}, and {} {} within {}", ranks_text(came), what(),
                                         ranks_text(missing), omission(missing), seconds_text(waited))
                           : fmt::format("{} {} within {}; {} did", ranks_text(missing), omission(missing),
                                         seconds_text(waited), ranks_text(came));
    text += own_line();
    for (int rank : missing) text += whereabouts(segment_, rank, wanted_.has_called(rank), false);
    const bool open_group =
        std::ranges::any_of(missing, [&](int rank) { return segment_.of(rank).calls_in_group.load() > 0; });
    text += "\n  try:  " +
            (open_group ? "Call ncclGroupEnd() after the last call of the group." : wanted_.advice);
    fail(segment_, ncclRemoteError, text);
    return false;
  }

  Segment& segment_;
  const Wanted& wanted_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point idle_since_ = began_, looked_ = began_, window_began_ = began_;
  std::size_t seen_missing_ = 0;
  long long ticks_ = 0;
};

} // namespace

Seconds time_limit() {
  static const double seconds = [] {
    const char* set = std::getenv("WARPFOLD_NCCL_TIMEOUT");
    if (!set || *set == '\0') return usual_limit;
    char* end = nullptr;
    const double value = std::strtod(set, &end);
    if (*end == '\0' && value > 0 && std::isfinite(value)) return value;
    fmt::print(stderr,
               "nccl: WARPFOLD_NCCL_TIMEOUT={}: give a number of seconds greater than 0; {:g} are taken\n",
               set, usual_limit);
    return usual_limit;
  }();
  return Seconds(seconds);
}

bool wait_for(Segment& segment, const Wanted& wanted) {
  return Patience(segment, wanted).wait();
}

bool wait_for_arrival(Segment& segment, const Call& own, const std::string& advice) {
  Wanted wanted{.own = own, .advice = advice};
  for (int rank = 0; rank < segment.size(); ++rank)
    if (rank != segment.rank()) wanted.ranks.push_back(rank);
  wanted.is_there = [&](int rank) {
    const auto presence = static_cast<Presence>(segment.of(rank).presence.load());
    return presence == Presence::here || presence == Presence::left;
  };
  wanted.has_called = wanted.is_there;
  // All may have come, and one has aborted the communicator before this one looked.
  return wait_for(segment, wanted) || std::ranges::all_of(wanted.ranks, wanted.is_there);
}

} // namespace warpfold::nccl
