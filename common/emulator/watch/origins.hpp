// Who accessed a word, and when: what the shadow of memory remembers.
//
// An origin is one operation of one warp between two synchronisations. Its number grows with time on each
// worker, so "before the last barrier" is a comparison of numbers. A shadow cell holds an origin's number and
// a lane.
#pragma once

#include "machine/code.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace warpfold::watch {

using Cell = std::uint32_t; // number << 5 | lane; 0: nobody
inline constexpr unsigned lane_bits = 5;
inline Cell cell(std::uint32_t origin, unsigned lane) {
  return origin << lane_bits | lane;
}
inline std::uint32_t origin_of(Cell cell) {
  return cell >> lane_bits;
}
inline unsigned lane_of(Cell cell) {
  return cell & 31;
}

struct Origin {
  std::uint32_t block = 0;                    // linear index
  std::uint32_t operation = 0;                // index in Code::operations
  std::uint32_t fences = 0, publications = 0; // that the block had made by then: see BlockHistory
  std::uint8_t warp = 0;
  bool is_atomic = false, is_strong = false; // strong: at least relaxed, so that two of them are no race
  std::uint8_t width = 0;                    // bytes a lane
  // Of accesses narrower than a word: which of the word's bytes, where that is the same in every lane.
  static constexpr std::uint8_t many_places = 255;
  std::uint8_t place = 0;
};

// All origins of a launch. Workers take numbers by the chunk and fill them without a lock.
class Origins {
public:
  static constexpr std::uint32_t chunk_size = 4096, chunk_count = 1u << (32 - lane_bits - 12);
  Origins() : chunks_(new std::unique_ptr<Origin[]>[chunk_count]) {}

  // Begins a launch: every number given before is older than first(). True if the numbers began anew, so that
  // the shadow must be cleared.
  bool begin_launch();
  std::uint32_t first() const { return first_; }
  const Origin& operator[](std::uint32_t number) const {
    return chunks_[number / chunk_size][number % chunk_size];
  }
  // A fresh chunk's first number; 0 where all are used up (the launch is then checked no further).
  std::uint32_t take_chunk();
  Origin& at(std::uint32_t number) { return chunks_[number / chunk_size][number % chunk_size]; }

private:
  std::unique_ptr<std::unique_ptr<Origin[]>[]> chunks_;
  std::atomic<std::uint32_t> next_chunk_{1};
  std::uint32_t first_ = chunk_size, first_chunk_ = 1;
};

} // namespace warpfold::watch
