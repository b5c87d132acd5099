// What the device reports about itself: one table for both its properties and its attributes.
#pragma once

#include "runtime/cuda_api.hpp"

#include <optional>

namespace warpfold::runtime {

// The value of an attribute; nothing if CUDA has no such attribute.
std::optional<int> device_attribute(int attribute);

} // namespace warpfold::runtime
