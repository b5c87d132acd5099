// What the device says about itself: one table, from which properties and attributes are both answered.
#pragma once

#include "cuda_api.hpp"

#include <optional>

namespace warpfold::runtime {

// The value of an attribute; nothing where CUDA knows no such attribute.
std::optional<int> device_attribute(int attribute);

} // namespace warpfold::runtime
