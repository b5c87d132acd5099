// What the race check remembers about a block's shared memory.
#pragma once

#include "access_records.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace warpfold::analysis {

// For each word of a block's shared memory: the last write and the readers since then. A word that nobody has
// written has 0. Two readers are kept, of different warps if possible, so that a write that races with any
// reader races with one of these. More are kept only if threads synchronise one by one. Once a word is
// accessed in parts, its bytes have cells of their own until the next barrier.
struct SharedShadow {
  static constexpr std::size_t word_bytes = 4;
  static constexpr Cell in_bytes = first_flag; // in a word's `wrote`: look at its bytes

  struct Cells {
    std::vector<Cell> wrote, read, read_too;
    std::unordered_map<std::size_t, std::vector<Cell>> read_by_more; // of some, since the last barrier
    void forget_more() {
      if (!read_by_more.empty()) read_by_more.clear();
    }
    auto readers_more(std::size_t place) {
      return read_by_more.empty() ? read_by_more.end() : read_by_more.find(place);
    }
  };
  Cells words, bytes;
  std::size_t count = 0; // words

  void reset(std::size_t word_count, bool forget_readers) {
    constexpr std::size_t slack = machine::warp_lanes; // a row may begin at the last word
    words.wrote.assign(word_count + slack, 0);
    if (forget_readers) words.read.clear(), words.read_too.clear(), bytes = {};
    words.read.resize(word_count + slack); // records of an earlier block are older than any later floor
    words.read_too.resize(word_count + slack);
    forget_more();
    count = word_count;
  }
  void forget_more() {
    words.forget_more();
    bytes.forget_more();
  }
  // Cells less than `floor` are of before the last barrier.
  bool is_split(std::size_t word, Cell floor) const {
    return words.wrote[word] >= floor && (words.wrote[word] & in_bytes);
  }
  void split(std::size_t word, Cell floor) {
    if (is_split(word, floor)) return;
    const auto more = words.readers_more(word);
    const bool has_more = more != words.read_by_more.end();
    for (std::vector<Cell> Cells::*cells : {&Cells::wrote, &Cells::read, &Cells::read_too}) {
      std::vector<Cell>& of_bytes = bytes.*cells;
      if (of_bytes.size() < count * word_bytes) of_bytes.resize(count * word_bytes);
      std::fill_n(&of_bytes[word * word_bytes], word_bytes, (words.*cells)[word]);
    }
    for (std::size_t i = 0; has_more && i < word_bytes; ++i)
      bytes.read_by_more[word * word_bytes + i] = more->second;
    words.wrote[word] = floor | in_bytes;
  }
};

} // namespace warpfold::analysis
