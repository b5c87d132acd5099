// Who accessed a word, and when: the contents of shadow memory.
//
// An access record stands for one operation of one warp between two synchronisations. Its moment says when,
// by the block's own clock, which advances with each synchronisation (BlockOrder), so that "before the last
// barrier" is a comparison of moments. A shadow cell holds a record's number and a lane. Records of
// shared memory are forgotten at the block's next barrier; those of global memory are kept for the launch and
// numbered through it.
#pragma once

#include "machine/code.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace warpfold::analysis {

using Cell = std::uint32_t; // number, two flags for the shadow memory's own use, lane; 0: none
inline constexpr unsigned lane_bits = 5, flag_bits = 2, number_bits = 32 - lane_bits - flag_bits;
inline constexpr Cell first_flag = 1u << lane_bits, second_flag = 2u << lane_bits,
                      both_flags = first_flag | second_flag;
inline Cell cell(std::uint32_t number, unsigned lane) {
  return number << (lane_bits + flag_bits) | lane;
}
inline std::uint32_t number_of(Cell cell) {
  return cell >> (lane_bits + flag_bits);
}
inline unsigned lane_of(Cell cell) {
  return cell & 31;
}

// How much an access guarantees. A volatile access happens and is not torn, but nothing says when others see
// it.
enum class Strength : std::uint8_t { weak, volatile_only, strong };

struct AccessRecord {
  std::uint32_t block = 0;     // linear index
  std::uint32_t operation = 0; // index in Code::operations
  std::uint32_t moment = 0;    // when, by the clock of the block
  std::uint8_t warp : 6 = 0;
  bool is_atomic : 1 = false;
  bool polls : 1 = false; // ptx/synchronising.hpp
  Strength strength : 3 = Strength::weak;
  bool is_store : 1 = false;
  machine::MemoryScope scope : 4 = machine::MemoryScope::block; // of a strong access
  std::uint8_t width = 0;                                       // bytes per lane
};
static_assert(sizeof(AccessRecord) == 16); // a launch may make many millions of them

// The records of one block since its last barrier; in shared memory, none before it matters.
class BlockRecords {
public:
  std::uint32_t next() const { return first_ + static_cast<std::uint32_t>(records_.size()); } // number
  std::uint32_t first() const { return first_; } // older ones are forgotten
  AccessRecord& operator[](std::uint32_t number) { return records_[number - first_]; }
  const AccessRecord& operator[](std::uint32_t number) const { return records_[number - first_]; }
  void add(const AccessRecord& record) { records_.push_back(record); }
  void forget() {
    first_ = next();
    records_.clear();
  }
  // True if the numbers had to start again because they were nearly used up: the existing shadow cells are
  // then meaningless.
  bool begin_block() {
    forget();
    bool anew = first_ >= 1u << (number_bits - 1);
    if (anew) first_ = 1;
    return anew;
  }

private:
  std::uint32_t first_ = 1;
  std::vector<AccessRecord> records_;
};

// All records of a launch in global memory. Workers take numbers in chunks and fill them without a lock.
class GlobalRecords {
public:
  static constexpr std::uint32_t chunk_size = 4096, chunk_count = 1u << (number_bits - 12);
  GlobalRecords() : chunks_(new std::unique_ptr<AccessRecord[]>[chunk_count]) {}

  // Begins a launch: every number given earlier is less than first(), which belongs to no access. True if the
  // numbers had to start again, so that the shadow must be cleared.
  bool begin_launch();
  std::uint32_t first() const { return first_; }
  const AccessRecord& operator[](std::uint32_t number) const {
    return chunks_[number / chunk_size][number % chunk_size];
  }
  // Numbers for a worker to fill, up to the next multiple of chunk_size; 0 if all are used up (the rest of
  // the launch is then not checked).
  std::uint32_t take_chunk();
  AccessRecord& at(std::uint32_t number) { return chunks_[number / chunk_size][number % chunk_size]; }

private:
  std::unique_ptr<std::unique_ptr<AccessRecord[]>[]> chunks_;
  std::atomic<std::uint32_t> next_chunk_{1};
  std::uint32_t first_ = chunk_size, first_chunk_ = 1;
};

} // namespace warpfold::analysis
