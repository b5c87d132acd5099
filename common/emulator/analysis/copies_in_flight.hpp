// Copies to shared memory that a thread has started (cp.async) but not waited for. The machine performs them
// at once; a GPU may do so at any time until the wait (PTX ISA, "Asynchronous copy", "cp.async.wait_group").
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpfold::analysis {

class CopiesInFlight {
public:
  void begin_block(std::size_t threads, std::size_t words) {
    words_ = words;
    open_ = 0;
    threads_.assign(threads, {});
    places_.clear(); // stays empty for blocks that copy nothing
  }
  void copy(unsigned thread, std::uint64_t first_byte, std::uint64_t bytes, std::uint32_t operation) {
    Thread& mine = threads_[thread];
    open_ += mine.over >= mine.last;
    mine.last = mine.group + 1;
    places_.resize(words_);
    for (std::uint64_t word = first_byte / 4; word < (first_byte + bytes + 3) / 4 && word < words_; ++word)
      places_[word] = {thread, operation, mine.group + 1};
  }
  // The thread's copies so far form a group.
  void commit(unsigned thread) { ++threads_[thread].group; }
  // Waits for all groups except the last `left`.
  void wait(unsigned thread, std::uint32_t left) {
    const std::uint32_t group = threads_[thread].group;
    if (group > left) finish(thread, group - left);
  }
  void wait_for_all(unsigned thread) {
    commit(thread);
    wait(thread, 0);
  }

  bool any() const { return open_ != 0; }
  struct Copy {
    unsigned thread = 0;
    std::uint32_t operation = 0;
    std::uint32_t group = 0; // from 1; 0: none
  };
  // The copy to this word that may still be in flight; null if there is none.
  const Copy* to(std::uint64_t word) const {
    if (word >= places_.size()) return nullptr;
    const Copy& copy = places_[word];
    return copy.group > threads_[copy.thread].over ? &copy : nullptr;
  }

private:
  struct Thread {
    std::uint32_t group = 0; // groups committed so far
    std::uint32_t over = 0;  // of these, how many it has waited for, from the first
    std::uint32_t last = 0;  // the group of its last copy, from 1
  };
  std::size_t words_ = 0, open_ = 0; // threads with copies in flight
  std::vector<Thread> threads_;
  std::vector<Copy> places_; // by word of shared memory

  void finish(unsigned thread, std::uint32_t over) {
    Thread& mine = threads_[thread];
    if (over <= mine.over) return;
    open_ -= mine.over < mine.last && over >= mine.last;
    mine.over = over;
  }
};

} // namespace warpfold::analysis
