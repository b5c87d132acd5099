// Bulk copies of a block (cp.async.bulk) that may still be under way. The machine performs them at once; a
// GPU does so at any time until the phase of their mbarrier is complete, or until their thread has waited for
// their group (PTX ISA, "cp.async.bulk" and "Async proxy").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace warpfold::analysis {

class BulkCopies {
public:
  void begin_block(std::size_t threads, std::size_t words) {
    word_count_ = words;
    threads_.assign(threads, {});
    steps_ = 0;
    words_.clear(); // stays empty for blocks that copy nothing
    seen_.clear();
  }

  // Who started a copy, or wrote, and with which operation.
  struct Doing {
    unsigned thread = 0;
    std::uint32_t operation = 0;
  };

  // Ordinary writes, and the fences between them and bulk copies. `now` and `last_synchronised` are moments
  // of the block's clock, which advances when threads synchronise.
  void written(unsigned thread, std::uint64_t first_byte, std::uint64_t bytes, std::uint32_t operation,
               std::uint32_t now) {
    ++steps_;
    each_word(first_byte, bytes, [&](Word& word) {
      word.written_at = steps_, word.written_when = now, word.written_by = {thread, operation};
    });
  }
  void fence(unsigned thread, std::uint32_t last_synchronised) {
    threads_[thread].fenced_at = ++steps_, threads_[thread].fence_covers = last_synchronised;
  }
  // Whether `thread` may hand the word to a bulk copy: the thread that wrote it has executed a fence since,
  // or `thread` has after the two had synchronised.
  bool is_fenced(std::uint64_t word, unsigned thread) const {
    if (word >= words_.size()) return true;
    const Word& at = words_[word];
    return at.written_at <= threads_[at.written_by.thread].fenced_at ||
           threads_[thread].fence_covers > at.written_when;
  }
  const Doing& writer_of(std::uint64_t word) const { return words_[word].written_by; }

  // Copies that read these words, until their thread has waited for their group.
  void reads(unsigned thread, std::uint64_t first_byte, std::uint64_t bytes, std::uint32_t operation) {
    const std::uint32_t group = threads_[thread].group + 1;
    each_word(first_byte, bytes, [&](Word& word) { word.reader = {{thread, operation}, group}; });
    threads_[thread].last_read = {{thread, operation}, group};
  }
  void commit(unsigned thread) { ++threads_[thread].group; }
  // Waits for all groups except the last `left`.
  void wait(unsigned thread, std::uint32_t left) {
    Thread& mine = threads_[thread];
    if (mine.group > left) mine.over = std::max(mine.over, mine.group - left);
  }
  // The copy that may still read the word; null if there is none.
  const Doing* reader_of(std::uint64_t word) const {
    if (word >= words_.size()) return nullptr;
    const Reader& reader = words_[word].reader;
    return reader.group > threads_[reader.copy.thread].over ? &reader.copy : nullptr;
  }

  // A copy that was not waited for; null if there is none.
  const Doing* unfinished() const {
    for (const Thread& each : threads_)
      if (each.last_read.group > each.over) return &each.last_read.copy;
    return nullptr;
  }

  // Copies that write these words, until a phase of an mbarrier is complete. `at`: the block's clock.
  void writes(unsigned thread, std::uint64_t first_byte, std::uint64_t bytes, std::uint32_t operation,
              std::uint64_t mbarrier, std::uint32_t phase, std::uint32_t at) {
    each_word(first_byte, bytes, [&](Word& word) {
      word.filling = {{thread, operation}, mbarrier, phase, at, true};
      word.written_at = 0; // by no ordinary write
    });
  }
  // The thread has seen that all phases before this one are complete.
  void phases_seen(unsigned thread, std::uint64_t mbarrier, std::uint32_t phase) {
    Seen& seen = seen_[mbarrier];
    if (seen.by_thread.empty()) seen.by_thread.resize(threads_.size());
    seen.by_thread[thread] = std::max(seen.by_thread[thread], phase);
    seen.by_any = std::max(seen.by_any, phase);
  }
  // The copy that may still write the word, as far as `thread` can know; null if there is none. What another
  // thread has waited for counts for all: whether that thread comes first is the race check's question. Only
  // the thread that started the copy is no stranger to it: it has to wait, too, or synchronise (after `at`).
  const Doing* writer_to(std::uint64_t word, unsigned thread, std::uint32_t last_synchronised) const {
    if (word >= words_.size() || !words_[word].filling.any) return nullptr;
    const Filling& filling = words_[word].filling;
    const auto seen = seen_.find(filling.mbarrier);
    if (seen == seen_.end() || seen->second.by_any <= filling.phase) return &filling.copy;
    const bool is_own = filling.copy.thread == thread;
    if (!is_own || seen->second.by_thread[thread] > filling.phase) return nullptr;
    return last_synchronised > filling.at ? nullptr : &filling.copy;
  }

private:
  struct Reader {
    Doing copy;
    std::uint32_t group = 0; // from 1; 0: none
  };
  struct Thread {
    std::uint64_t fenced_at = 0;
    std::uint32_t fence_covers = 0;    // what was written before this moment
    std::uint32_t group = 0, over = 0; // groups committed, and of these how many were waited for
    Reader last_read;
  };
  struct Filling {
    Doing copy;
    std::uint64_t mbarrier = 0;
    std::uint32_t phase = 0, at = 0;
    bool any = false;
  };
  struct Word {
    std::uint64_t written_at = 0; // 0: not by an ordinary write
    std::uint32_t written_when = 0;
    Doing written_by; // the last ordinary write
    Reader reader;
    Filling filling;
  };
  struct Seen {
    std::vector<std::uint32_t> by_thread;
    std::uint32_t by_any = 0;
  };
  std::size_t word_count_ = 0;
  std::uint64_t steps_ = 0; // writes and fences so far
  std::vector<Thread> threads_;
  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, Seen> seen_; // by the mbarrier's offset

  template <typename Visit>
  void each_word(std::uint64_t first_byte, std::uint64_t bytes, Visit visit) {
    constexpr std::uint64_t word_bytes = 4;
    words_.resize(word_count_);
    const std::uint64_t end = (first_byte + bytes + word_bytes - 1) / word_bytes;
    for (std::uint64_t word = first_byte / word_bytes; word < end && word < word_count_; ++word)
      visit(words_[word]);
  }
};

} // namespace warpfold::analysis
