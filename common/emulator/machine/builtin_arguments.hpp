// What the builtin functions share: how they read their arguments and the strings that those point to.
#pragma once

#include "access.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace warpfold::machine {

// The arguments and the result of a builtin, lane by lane, in the caller's frame.
class Arguments {
public:
  Arguments(Warp& warp, const Operation* op)
      : warp_(warp), list_(warp.worker->grid.code.lists.data() + op->list) {}
  unsigned count() const { return list_[0]; }
  u64 get(unsigned index, unsigned lane) const {
    u64 value = 0;
    std::memcpy(&value, warp_.frame + list_[1 + 2 * index] + lane * list_[2 + 2 * index],
                std::min<std::size_t>(sizeof value, list_[2 + 2 * index]));
    return value;
  }
  // The bytes of an argument of any size, and how many there are.
  const std::byte* bytes(unsigned index, unsigned lane) const {
    return reinterpret_cast<const std::byte*>(warp_.frame + list_[1 + 2 * index] + lane * size(index));
  }
  std::uint32_t size(unsigned index) const { return list_[2 + 2 * index]; }
  void set_result(unsigned lane, u64 value) const {
    const std::uint32_t* results = list_ + 1 + 2 * count();
    if (results[0] == 0) return;
    std::memcpy(warp_.frame + results[1] + lane * results[2], &value,
                std::min<std::size_t>(sizeof value, results[2]));
  }

private:
  Warp& warp_;
  const std::uint32_t* list_;
};

inline std::string read_string(Warp& warp, const Operation* op, unsigned lane, u64 address) {
  constexpr std::size_t longest = 1 << 16;
  std::string text;
  while (text.size() < longest) {
    char c = static_cast<char>(*generic_at(warp, op, lane, address + text.size(), 1, 1, AccessKind::load));
    if (c == 0) break;
    text += c;
  }
  return text;
}

} // namespace warpfold::machine
