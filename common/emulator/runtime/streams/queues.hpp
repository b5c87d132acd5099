// Work that is done after the call that issues it has returned: each stream's on a thread of its own, in the
// order of issue. With several devices, that is all work. So kernels of different devices run at the same
// time, and one may wait for what another does. With one device, it is all work from when a kernel waits for
// what the host will write, and host functions that begin late (host_functions.hpp).
//
// Whatever work waits for was issued before it: the stream's earlier work, recorded events, and what the
// rules of the default stream name (CUDA Programming Guide, "Asynchronous Concurrent Execution"). So it
// always gets its turn.
#pragma once

#include "runtime/cuda_api.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace warpfold::runtime {

// A moment in the order of work: over once the work before it is done.
class Moment {
public:
  virtual ~Moment() = default;
  virtual void wait();
  virtual bool is_over();
  bool wait_at_most(std::chrono::milliseconds time); // for what this process does; whether it is over
  void pass();

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
};
// Null: over.
using Point = std::shared_ptr<Moment>;

inline bool is_over(const Point& point) {
  return !point || point->is_over();
}
// Whether a thread of the program, not of a queue, has been waiting for work of this process for a while.
bool host_waits();
inline void wait_for(const Point& point) {
  if (point) point->wait();
}

// The work of one stream. Its thread begins with the first piece, and ends when the queue has been destroyed
// and nothing is left.
class Queue {
public:
  Queue();
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Does `work` after all earlier work of this queue, and after all of `after`. Returns when it is done as a
  // Point.
  Point push(std::vector<Point> after, std::function<void()> work);
  // When all work so far is done.
  const Point& last() const { return last_; }

private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  Point last_;
};

} // namespace warpfold::runtime
