// Texture and surface objects.
#pragma once

#include "machine/textures.hpp"

#include <memory>

namespace warpfold::runtime {

// Those that exist now; null if there are none.
std::shared_ptr<const machine::Textures> current_textures();

} // namespace warpfold::runtime
