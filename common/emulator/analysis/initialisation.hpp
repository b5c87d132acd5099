// Which bytes of device memory have been written since they were allocated.
#pragma once

#include "machine/address_space.hpp"
#include "machine/lazy_array.hpp"

#include <cstdint>
#include <string>

namespace warpfold::analysis {

// Bits that several threads may set and clear at the same time. They take memory only where a bit has been
// set.
class LazyBits {
public:
  explicit LazyBits(std::uint64_t count) : words_(count / 64 + 1) {}
  void set(std::uint64_t first, std::uint64_t count);
  void clear(std::uint64_t first, std::uint64_t count);
  bool all(std::uint64_t first, std::uint64_t count) const;
  bool operator[](std::uint64_t bit) const { return words_[bit / 64] >> bit % 64 & 1; }

private:
  machine::LazyArray<std::uint64_t> words_;
};

// Only memory from cudaMalloc is tracked. Everything else (variables; managed and pinned memory, which the
// host writes unseen) counts as written.
//
// Most memory is written in whole rows of 128 bytes. One bit per row says that the row was allocated and has
// not been written as a whole since; only in such rows, one bit per byte says which bytes have been written.
class WrittenMemory {
public:
  explicit WrittenMemory(const machine::AddressSpace& memory);
  void allocated(std::uint64_t begin, std::uint64_t size); // by cudaMalloc: nothing in it yet
  void written(std::uint64_t begin, std::uint64_t size);
  bool is_written(std::uint64_t begin, std::uint64_t size) const;
  std::uint64_t unwritten(std::uint64_t begin, std::uint64_t size) const; // how many of these bytes
  // "of the 64 elements there, only element 0 has been": which elements of an array have been written.
  std::string in_words(std::uint64_t begin, std::uint64_t elements, unsigned width) const;

private:
  std::uint64_t base_, reserved_;
  LazyBits fresh_; // by row
  LazyBits bytes_; // in fresh rows: those that have been written
  bool inside(std::uint64_t begin, std::uint64_t size) const {
    return begin >= base_ && begin + size <= base_ + reserved_;
  }
};

} // namespace warpfold::analysis
