// Compares the input on the device: copying a large one back would take seconds.
#pragma once

#include <cstddef>

namespace lab {

// Launches on the default stream a kernel that compares `count` words of 4 bytes at `data` with those a
// period before, from the second period on, and lowers *first_difference (device memory) to the least index
// that differs.
void launch_find_difference(const void* data, std::size_t count, std::size_t period, unsigned blocks,
                            unsigned long long* first_difference);

} // namespace lab
