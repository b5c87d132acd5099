// Which lane a shuffle takes its value from.
#pragma once

#include "machine/decoder.hpp"

namespace warpfold::machine {

enum class Shuffle : std::uint8_t { up, down, butterfly, index };

// PTX ISA, shfl.sync: c holds the segment's mask (bits 8 to 12) and the clamp (bits 0 to 4).
struct Source {
  unsigned lane;
  bool in_range;
};
template <Shuffle Mode>
Source source_lane(unsigned lane, u32 b, u32 c) {
  unsigned segment = c >> 8 & 31, clamp = c & 31;
  int last = static_cast<int>((lane & segment) | (clamp & ~segment)),
      first = static_cast<int>(lane & segment);
  b &= 31;
  int from = Mode == Shuffle::up          ? static_cast<int>(lane) - static_cast<int>(b)
             : Mode == Shuffle::down      ? static_cast<int>(lane + b)
             : Mode == Shuffle::butterfly ? static_cast<int>(lane ^ b)
                                          : first | static_cast<int>(b & ~segment);
  bool in_range = Mode == Shuffle::up ? from >= last : from <= last;
  return {in_range ? static_cast<unsigned>(from) : lane, in_range};
}

// `make` makes of a mode, known when it is compiled, what is to be done; null where none is named.
template <typename Make>
auto by_mode(const ptx::Instruction& in, Make make) -> decltype(make.template operator()<Shuffle::up>()) {
  if (in.has("up")) return make.template operator()<Shuffle::up>();
  if (in.has("down")) return make.template operator()<Shuffle::down>();
  if (in.has("bfly")) return make.template operator()<Shuffle::butterfly>();
  if (in.has("idx")) return make.template operator()<Shuffle::index>();
  return nullptr;
}

} // namespace warpfold::machine
