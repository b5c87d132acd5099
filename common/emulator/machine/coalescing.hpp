// What the memory pipes do with one warp's request: pure functions of addresses, mask and width.
// Rules: CUDA Programming Guide, "Maximize Memory Throughput"; Nsight Compute's metrics tables (sectors,
// wavefronts).
#pragma once

#include <bit>
#include <cstdint>

namespace warpfold::machine {

inline constexpr unsigned warp_lanes = 32;
inline constexpr std::uint32_t all_lanes = 0xffffffffu;
inline constexpr unsigned sector_bytes = 32, bank_count = 32, bank_bytes = 4;

// Distinct 32-byte sectors that the active lanes touch. `addresses`: 32, in bytes; `width`: bytes per lane.
unsigned sectors(const std::uint64_t* addresses, std::uint32_t mask, unsigned width);

// The same for 32 lanes that access neighbouring elements, from the first byte's address.
inline unsigned contiguous_sectors(std::uint64_t first, unsigned bytes) {
  return static_cast<unsigned>((first % sector_bytes + bytes + sector_bytes - 1) / sector_bytes);
}

struct Wavefronts {
  unsigned count = 0; // passes that shared memory needs
  unsigned ideal = 0; // passes that it would need if no two lanes needed the same bank
};

// A pass serves one word of each bank. Lanes that want the same word share it. Accesses of 8 (16) bytes per
// lane are served half a warp (a quarter of a warp) at a time.
Wavefronts wavefronts(const std::uint64_t* addresses, std::uint32_t mask, unsigned width);

} // namespace warpfold::machine
