// What orders the work of streams and of the host, and which work accesses the same bytes although nothing
// orders it (CUDA Programming Guide, "Asynchronous Concurrent Execution").
//
// Vector clocks: each stream counts its operations, and each stream and the host know how many of every other
// stream's operations are complete before whatever they do next. The host's threads count as one: how they
// wait for each other (join, mutexes) is not visible here, and a guess would report false races.
//
// Not safe to call from several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace warpfold::analysis {

// What an operation does to a range of bytes. Strong accesses (volatile, atomics) race only with plain ones.
enum class Touch : std::uint8_t { read, write, strong_read, strong_write };

struct TouchedRange {
  std::uint64_t begin = 0, end = 0;
  Touch touch{};
  bool of_host = false; // the host's own loads and stores may reach it
  bool is_exact = true; // otherwise not every byte in it was accessed
  bool operator==(const TouchedRange&) const = default;
};

// By actor: how many of its operations are complete.
using Clock = std::vector<std::uint32_t>;
void join(Clock& into, const Clock& from);

struct Operation {
  std::string name;                  // "cudaMemcpyAsync", "scale(float*, int)"
  std::string where;                 // "stream 3"
  std::vector<std::uint64_t> frames; // return addresses of the call that issued it, innermost first
  bool is_kernel = false;
  bool of_graph = false; // a node of one
  bool is_host_function = false;

  std::uint32_t actor = 0, number = 0;
  Clock view; // what is complete before it begins, itself included
  std::vector<TouchedRange> touched;
};

class HostOrder {
public:
  using Stream = std::uint32_t;
  static constexpr Stream legacy =
      1; // the first device's default stream, which waits for all its blocking ones

  HostOrder();
  // Another device. Returns its default stream.
  Stream add_device();
  // `standard`: its device's default stream.
  Stream add_stream(bool blocking, Stream standard = legacy);
  void remove_stream(Stream stream); // work that was issued to it may still be running

  // An operation that the host issues now.
  Operation issue(Stream stream);
  // Takes note of what an operation accessed. Calls report(earlier, its range, operation, its range) for each
  // earlier operation that accesses the same bytes with nothing to order the two; at most once per pair.
  using Report =
      std::function<void(const Operation&, const TouchedRange&, const Operation&, const TouchedRange&)>;
  void finish(Operation operation, const Report& report);

  // A graph's node: `before` holds what it waits for, which are the ends of the nodes that it depends on or
  // of the launch as a whole. `chained`: it continues where the first of them ended, and no other node has
  // done so.
  Operation issue_node(Stream stream, const std::vector<const Operation*>& before, bool chained);
  // The launch is complete when all of its nodes are.
  void join(Stream stream, const Operation& node);

  // cudaEventRecord: what is complete when the event is.
  Clock record(Stream stream);
  // cudaStreamWaitEvent.
  void stream_waits(Stream stream, const Clock& clock);
  // The host waits for a stream, an event, an operation, or everything.
  void host_waits(Stream stream);
  bool host_knows(const Clock& clock) const; // that all of this is complete
  bool host_knows(std::uint32_t actor, std::uint32_t number) const {
    return over(actor, number, clocks_[host]);
  }
  // Whether this operation is complete for who knows so much.
  static bool over(std::uint32_t actor, std::uint32_t number, const Clock& view) {
    return actor < view.size() && view[actor] >= number;
  }
  void host_waits(const Clock& clock);
  void host_waits_for_device(Stream standard);
  void host_waits_for_all();

  // This memory was allocated again: earlier accesses were to something else.
  void forget(std::uint64_t begin, std::uint64_t end);

  // Calls visit(operation, range) for each range of host memory that may still be in use, as far as the owner
  // of `view` knows; if it is null, as far as the host knows.
  template <typename Visit>
  void each_in_flight(const Clock* view, Visit visit) const {
    const Clock& seen = view ? *view : clocks_[host];
    for (const Operation& operation : pending_)
      if (!over(operation, seen))
        for (const TouchedRange& range : operation.touched)
          if (range.of_host) visit(operation, range);
  }
  std::size_t pending() const { return pending_.size(); }
  // Whether, since the last call, an operation was not compared with one that nothing orders before it,
  // because more were pending or accessed than is kept.
  bool has_missed_some() { return std::exchange(missed_some_, false); }

private:
  static constexpr std::uint32_t host = 0;
  static bool over(const Operation& operation, const Clock& view) {
    return over(operation.actor, operation.number, view);
  }
  std::uint32_t add_actor();
  // Adds what precedes everything that follows, because of the host and the rules of the default streams.
  void prepare(Stream stream);
  void forget_what_is_over();
  void drop_oldest();

  struct State {
    bool is_stream = false, blocking = false, live = false;
    Stream standard = legacy;            // the default stream of its device; its own number if it is that
    std::vector<std::uint32_t> branches; // actors for nodes of graphs that run in parallel
    std::size_t branches_used = 0;       // by the current launch
  };
  std::vector<Clock> clocks_;         // by actor
  std::vector<std::uint32_t> counts_; // by actor: operations so far
  std::vector<State> states_;
  std::deque<std::uint32_t> removed_;              // actors that may be reused
  Clock removed_blocking_, removed_all_;           // work issued to streams that no longer exist
  std::map<std::uint32_t, std::uint32_t> dropped_; // by actor: the newest operation no longer kept
  bool missed_some_ = false;
  std::deque<Operation> pending_; // not known by the host to be complete, oldest first
  // Issued and not finished, with what is complete before each: it may still meet what the host knows to be
  // over.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Clock> unfinished_; // by actor and number
};

} // namespace warpfold::analysis
