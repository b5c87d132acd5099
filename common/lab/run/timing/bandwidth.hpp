// The yardstick of "percent of what this device can read": a kernel that only reads.
#pragma once

#include <cstddef>

namespace lab {

// Launches on the default stream a kernel that reads `bytes` bytes (a multiple of 16) at `data`, aligned to
// 16, with `blocks` blocks of 512 threads. `sink`, 4 bytes, only keeps the compiler from removing the
// reads.
void launch_read(const void* data, std::size_t bytes, unsigned blocks, void* sink);

} // namespace lab
