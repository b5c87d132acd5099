// What the race check remembers about a block's shared memory.
#pragma once

#include "access_records.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace warpfold::watch {

// For each word of a block's shared memory: the last write and the readers since then. A word that nobody has
// written has 0. Two readers are kept, of different warps if possible, so that a write that races with any
// reader races with one of these. More are kept only if threads synchronise one by one.
struct SharedShadow {
  std::vector<Cell> wrote, read, read_too;
  std::unordered_map<std::size_t, std::vector<Cell>> read_by_more; // of some words, since the last barrier
  void reset(std::size_t words, bool forget_readers) {
    constexpr std::size_t slack = machine::warp_lanes; // a row may begin at the last word
    wrote.assign(words + slack, 0);
    if (forget_readers) read.clear(), read_too.clear();
    read.resize(words + slack); // records of an earlier block are older than any later floor
    read_too.resize(words + slack);
    forget_more();
    count = words;
  }
  void forget_more() {
    if (!read_by_more.empty()) read_by_more.clear();
  }
  auto readers_more(std::size_t word) {
    return read_by_more.empty() ? read_by_more.end() : read_by_more.find(word);
  }
  std::size_t count = 0; // words
};

} // namespace warpfold::watch
