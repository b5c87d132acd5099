// Data races: two threads access a word, one of them writes, and nothing orders the two (CUDA Programming Guide,
// "Memory Consistency Model"; PTX ISA 8). Found by what did happen in this run, whichever way it went.
#pragma once

#include "happens_before.hpp"
#include "lazy_array.hpp"
#include "machine/block.hpp"

#include <cstdint>
#include <vector>

namespace warpfold::watch {

// The last write and two readers since, of each word of a block's shared memory.
struct SharedShadow {
  std::vector<Cell> wrote, read, read_too;
  void reset(std::size_t words) {
    wrote.assign(words, 0);
    read.assign(words, 0);
    read_too.assign(words, 0);
  }
};

// The last write and one reader since, of each word of the device's memory: 2 bytes a byte, where it was touched.
struct GlobalShadow {
  explicit GlobalShadow(const machine::AddressSpace& memory)
      : base(memory.base()), bytes(memory.reserved()), wrote(memory.reserved() / 4 + 1), read(memory.reserved() / 4 + 1) {}
  std::uint64_t base, bytes;
  LazyArray<Cell> wrote, read;
  bool holds(std::uint64_t address, std::uint64_t size) const { return address >= base && address + size <= base + bytes; }
};

// Two accesses that nothing orders.
struct Conflict {
  Cell earlier = 0;
  unsigned lane = 0;            // of the later one
  std::uint64_t address = 0;    // of the word
  bool earlier_wrote = false;
  bool unfenced = false;        // published without a fence
};

// What is known of the block that accesses.
struct Accessor {
  const machine::Access& access;
  const Origins& origins;
  const BlockHistories& histories;
  const BlockOrder& order;
  std::uint32_t origin;         // of this access
};

// Checks an access against the shadow, enters it, and calls report(Conflict) for each race found.
template <typename Report> void check_shared(SharedShadow& shadow, const Accessor& accessor, Report report);
template <typename Report> void check_global(GlobalShadow& shadow, const Accessor& accessor, Report report);

}  // namespace warpfold::watch

#include "races.inl"
