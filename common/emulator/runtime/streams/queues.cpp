#include "runtime/streams/queues.hpp"

#include "runtime/streams/host_functions.hpp"

#include <atomic>
#include <deque>
#include <thread>

namespace warpfold::runtime {

namespace {
std::atomic<int> waiting_hosts = 0;
thread_local bool is_of_queue = false;
// What the host wrote before it waits has come to every kernel by then.
constexpr std::chrono::milliseconds until_host_waits{500};
} // namespace

void Moment::wait() {
  const auto is_over = [this] { return is_over_; };
  std::unique_lock lock(mutex_);
  if (is_of_queue) return changed_.wait(lock, is_over);
  if (is_over_) return;
  ordering::host_functions_begin();
  if (changed_.wait_for(lock, until_host_waits, is_over)) return;
  ++waiting_hosts;
  changed_.wait(lock, is_over);
  --waiting_hosts;
}

bool Moment::wait_at_most(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [&] { return is_over_; });
}

bool host_waits() {
  return waiting_hosts != 0;
}

bool Moment::is_over() {
  std::lock_guard lock(mutex_);
  return is_over_;
}

void Moment::pass() {
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
}

struct Queue::Shared {
  struct Piece {
    std::vector<Point> after;
    std::function<void()> work;
    Point done;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Piece> pieces;
  bool has_thread = false, is_closed = false;

  void serve() {
    is_of_queue = true;
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !pieces.empty() || is_closed; });
      if (pieces.empty()) return;
      const Piece piece = std::move(pieces.front());
      pieces.pop_front();
      lock.unlock();
      for (const Point& each : piece.after) wait_for(each);
      if (piece.work) piece.work();
      piece.done->pass();
    }
  }
};

Queue::Queue() : shared_(std::make_shared<Shared>()) {}

Queue::~Queue() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->is_closed = true;
  }
  shared_->changed.notify_all();
}

Point Queue::push(std::vector<Point> after, std::function<void()> work) {
  last_ = std::make_shared<Moment>();
  {
    std::lock_guard lock(shared_->mutex);
    shared_->pieces.push_back({std::move(after), std::move(work), last_});
    if (!shared_->has_thread) {
      shared_->has_thread = true;
      std::thread([shared = shared_] { shared->serve(); }).detach();
    }
  }
  shared_->changed.notify_all();
  return last_;
}

} // namespace warpfold::runtime
