// A copy of what some of the program's memory holds.
#pragma once

#include "machine/address_space.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace warpfold::runtime {

class MemoryContents {
public:
  // Of the live allocations of these kinds.
  MemoryContents(const machine::AddressSpace& memory, std::initializer_list<machine::MemoryKind> kinds);
  std::uint64_t bytes() const { return bytes_; }
  void keep();
  void put_back() const;

  struct Range {
    std::uint64_t begin = 0, end = 0;
  };
  // The bytes that differ from what was kept, in the order of their addresses. Not of what has been freed
  // since.
  std::vector<Range> changes(const machine::AddressSpace& memory) const;

private:
  struct Part {
    std::uint64_t begin, size;
  };
  std::vector<Part> parts_;
  std::uint64_t bytes_ = 0;
  std::vector<std::byte> kept_;
};

} // namespace warpfold::runtime
