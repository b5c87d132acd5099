// Which bytes of device memory have been written since they were allocated: one bit a byte.
#pragma once

#include "lazy_array.hpp"
#include "machine/address_space.hpp"

#include <cstdint>

namespace warpfold::watch {

// A row of bits, one for each byte of some memory.
class WrittenBits {
public:
  explicit WrittenBits(std::uint64_t* words) : words_(words) {}
  // Ranges in bytes. Bits of one 64-byte group may be set by several threads at once.
  void set(std::uint64_t first, std::uint64_t count);
  void clear(std::uint64_t first, std::uint64_t count);
  bool all(std::uint64_t first, std::uint64_t count) const;

private:
  std::uint64_t* words_;
};

// For cudaMalloc's memory. Everything else (variables, managed and pinned memory, which the host writes
// unseen) counts as written.
class WrittenMemory {
public:
  explicit WrittenMemory(const machine::AddressSpace& memory);
  void allocated(std::uint64_t begin, std::uint64_t size); // by cudaMalloc: nothing in it yet
  void written(std::uint64_t begin, std::uint64_t size);
  bool is_written(std::uint64_t begin, std::uint64_t size);

private:
  std::uint64_t base_, reserved_;
  LazyArray<std::uint64_t> unwritten_; // inverted, so that untouched means written
  bool inside(std::uint64_t begin, std::uint64_t size) const {
    return begin >= base_ && begin + size <= base_ + reserved_;
  }
};

} // namespace warpfold::watch
