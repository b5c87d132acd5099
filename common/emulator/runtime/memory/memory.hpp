// Device memory for what the program knows by another handle than its address.
#pragma once

#include <cstddef>
#include <string>

namespace warpfold::runtime {

// On the current device. `label`: what messages call it.
void* allocate_device(std::size_t size, std::string label);
// Waits until nothing that was issued can use it.
void release_device(const char* caller, void* begin);

} // namespace warpfold::runtime
