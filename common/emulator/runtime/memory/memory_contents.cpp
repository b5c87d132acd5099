#include "runtime/memory/memory_contents.hpp"

#include <algorithm>
#include <cstring>

namespace warpfold::runtime {

MemoryContents::MemoryContents(const machine::AddressSpace& memory,
                               std::initializer_list<machine::MemoryKind> kinds) {
  for (const machine::MemoryKind kind : kinds)
    memory.each_live(kind, [this](const machine::Allocation& allocation) {
      parts_.push_back({allocation.begin, allocation.size});
      bytes_ += allocation.size;
    });
}

void MemoryContents::keep() {
  kept_.resize(bytes_);
  std::byte* to = kept_.data();
  for (const auto& [begin, size] : parts_) {
    std::memcpy(to, reinterpret_cast<const void*>(begin), size);
    to += size;
  }
}

void MemoryContents::put_back() const {
  const std::byte* from = kept_.data();
  for (const auto& [begin, size] : parts_) {
    std::memcpy(reinterpret_cast<void*>(begin), from, size);
    from += size;
  }
}

std::vector<MemoryContents::Range> MemoryContents::changes(const machine::AddressSpace& memory) const {
  std::vector<Range> found;
  const std::byte* from = kept_.data();
  for (const auto& [begin, size] : parts_) {
    const std::byte* const old = from;
    from += size;
    const auto allocation = memory.find(begin);
    if (!allocation || allocation->begin != begin || allocation->size != size) continue;
    const auto* const now = reinterpret_cast<const std::byte*>(begin);
    for (const std::byte* at = now;
         (at = std::mismatch(at, now + size, old + (at - now)).first) != now + size;) {
      const std::byte* end = at;
      while (end != now + size && *end != old[end - now]) ++end;
      found.push_back(
          {begin + static_cast<std::uint64_t>(at - now), begin + static_cast<std::uint64_t>(end - now)});
      at = end;
    }
  }
  return found;
}

} // namespace warpfold::runtime
