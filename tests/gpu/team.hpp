// A host thread per GPU, which stay for the whole run: starting one takes longer than a sum.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

class Team {
public:
  explicit Team(unsigned count) : count_(count) {
    for (unsigned k = 0; k < count; ++k) threads_.emplace_back([this, k] { serve(k); });
  }
  ~Team() {
    all({});
    for (std::thread& thread : threads_) thread.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Calls `task` with 0, 1, ... count - 1, on the thread of that number, and waits for all.
  void all(std::function<void(unsigned)> task) {
    task_ = std::move(task);
    done_ = 0;
    ++round_;
    while (done_ != count_) std::this_thread::yield();
  }

  // Called within a task, by all of them: none returns before the last has come. It spins, as what comes next
  // is timed.
  void meet() {
    const unsigned turn = turn_;
    if (++met_ == count_) {
      met_ = 0;
      ++turn_;
    } else {
      while (turn_ == turn) {
      }
    }
  }

private:
  void serve(unsigned k) {
    for (unsigned served = 0;;) {
      while (round_ == served) std::this_thread::yield();
      ++served;
      const bool ends = !task_;
      if (!ends) task_(k);
      ++done_;
      if (ends) return;
    }
  }

  unsigned count_;
  std::vector<std::thread> threads_;
  std::function<void(unsigned)> task_;
  std::atomic<unsigned> round_ = 0, done_ = 0, met_ = 0, turn_ = 0;
};
