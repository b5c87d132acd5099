// What the device reports about itself: one table for both its properties and its attributes.
#pragma once

#include "runtime/cuda_api.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace warpfold::runtime {

// The value of an attribute; nothing if CUDA has no such attribute.
std::optional<int> device_attribute(int attribute);

// The L2 cache, which the emulator only speaks of: its size, in bytes, and how much of it a program may set
// aside for lines that persist. The values are those that an H200 gives (CUDA 13.0).
struct PersistingL2 {
  static constexpr int cache = 60 << 20, part = cache / 16; // what is set aside is whole parts
  static constexpr int most = 10 * part, initial = 3 * part;
  static constexpr int largest_window = 128 << 20; // of addresses
  static std::size_t in_parts(std::size_t bytes) { return (bytes + part - 1) / part * part; }
};

// What cudaDeviceSetLimit has set for a thread's stack, in bytes.
std::uint32_t stack_limit();

} // namespace warpfold::runtime
