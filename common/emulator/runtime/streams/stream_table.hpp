// Streams and events as objects. Only streams.cpp, events.cpp and capture.cpp need to see them.
#pragma once

#include "analysis/host_order.hpp"
#include "machine/peers.hpp"
#include "runtime/graphs/graphs.hpp"
#include "runtime/memory/ipc.hpp"
#include "runtime/streams/queues.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace warpfold::runtime {

struct Stream {
  unsigned flags = 0; // cudaStreamDefault, cudaStreamNonBlocking
  int priority = 0;
  unsigned long long id = 0;
  CapturePlace place;
  unsigned order = 0; // its number in analysis::HostOrder; 0: none yet
  int device = 0;
  Queue queue;                // of what is done later
  std::vector<Point> awaited; // by cudaStreamWaitEvent: by whatever is issued next
  Attributes attributes;

  bool blocking() const { return !(flags & cudaStreamNonBlocking); }
};

struct Event {
  unsigned flags = 0;
  bool recorded = false;
  // When the event is: where work is done later, once it is over.
  std::shared_ptr<EventTime> time;
  Point over_at;
  int device = 0;
  std::shared_ptr<SharedEvent> shared; // null unless other processes may see it
  CapturePlace place;

  Point point() const; // when what was recorded last is done

  // For ordering.hpp.
  bool ever_recorded = false; // in a capture, too
  analysis::Clock over;       // what is complete when the event is
  analysis::Clock asked;      // the same, when a query said no
  std::string waited_for;     // the call that waited for it before it was ever recorded
  std::vector<std::uint64_t> waiters;
};

// All live streams and events. Lock `mutex` around every use.
struct StreamTable {
  std::recursive_mutex mutex;
  std::map<const void*, std::unique_ptr<Stream>> streams;
  std::map<const void*, std::unique_ptr<Event>> events;
  Stream legacy[machine::most_devices], per_thread[machine::most_devices]; // the default streams, by device
  // What destroyed streams had still to do.
  struct Rest {
    int device = 0;
    bool blocking = false;
    Point last;
  };
  std::vector<Rest> rests;
  unsigned long long next_id = 3;                 // after those of the two default streams
  std::vector<std::shared_ptr<Capture>> captures; // those that have begun and not ended

  static StreamTable& get();
  // What everything that is issued to the stream now comes after, apart from its own earlier work.
  std::vector<Point> before_work_in(const Stream& stream) const;
  // When all work of a device so far is done.
  std::vector<Point> work_of(int device) const;

  // Both throw Refusal (cudaErrorInvalidResourceHandle) for what is not a live handle. The default streams
  // are those of the current device.
  Stream& stream(cudaStream_t handle);
  Event& event(cudaEvent_t handle);
};

} // namespace warpfold::runtime
