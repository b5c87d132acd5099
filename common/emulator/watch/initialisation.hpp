// Which bytes of device memory have been written since they were allocated.
#pragma once

#include "lazy_array.hpp"
#include "machine/address_space.hpp"

#include <cstdint>

namespace warpfold::watch {

// Bits, set and cleared by several threads at once; memory is taken where one was set.
class LazyBits {
public:
  explicit LazyBits(std::uint64_t count) : words_(count / 64 + 1) {}
  void set(std::uint64_t first, std::uint64_t count);
  void clear(std::uint64_t first, std::uint64_t count);
  bool all(std::uint64_t first, std::uint64_t count) const;
  bool operator[](std::uint64_t bit) const { return words_[bit / 64] >> bit % 64 & 1; }

private:
  LazyArray<std::uint64_t> words_;
};

// For cudaMalloc's memory. Everything else (variables, managed and pinned memory, which the host writes
// unseen) counts as written.
//
// Most memory is written by whole rows of 128 bytes: one bit says of each row that it was allocated and never
// written as a whole. Only in such rows is a bit kept for each byte that was.
class WrittenMemory {
public:
  explicit WrittenMemory(const machine::AddressSpace& memory);
  void allocated(std::uint64_t begin, std::uint64_t size); // by cudaMalloc: nothing in it yet
  void written(std::uint64_t begin, std::uint64_t size);
  bool is_written(std::uint64_t begin, std::uint64_t size) const;

private:
  std::uint64_t base_, reserved_;
  LazyBits fresh_; // by row
  LazyBits bytes_; // in fresh rows: written all the same
  bool inside(std::uint64_t begin, std::uint64_t size) const {
    return begin >= base_ && begin + size <= base_ + reserved_;
  }
};

} // namespace warpfold::watch
