// Streams and events as objects. Only streams.cpp, events.cpp and capture.cpp need to see them.
#pragma once

#include "graphs.hpp"
#include "watch/host_order.hpp"

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
  unsigned order = 0; // its number in watch::HostOrder; 0: none yet
};

struct Event {
  unsigned flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  CapturePlace place;

  // For ordering.hpp.
  bool ever_recorded = false; // in a capture, too
  watch::Clock over;          // what is complete when the event is
  std::string waited_for;     // the call that waited for it before it was ever recorded
  std::vector<std::uint64_t> waiters;
};

// All live streams and events. Lock `mutex` around every use.
struct StreamTable {
  std::recursive_mutex mutex;
  std::map<const void*, std::unique_ptr<Stream>> streams;
  std::map<const void*, std::unique_ptr<Event>> events;
  Stream legacy, per_thread;                      // the two default streams
  unsigned long long next_id = 3;                 // after those of the two
  std::vector<std::shared_ptr<Capture>> captures; // those that have begun and not ended

  static StreamTable& get();
  // Both throw Refusal (cudaErrorInvalidResourceHandle) for what is not a live handle.
  Stream& stream(cudaStream_t handle);
  Event& event(cudaEvent_t handle);
};

} // namespace warpfold::runtime
