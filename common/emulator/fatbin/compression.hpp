#pragma once

#include "fatbin/container.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace warpfold::fatbin {

// Undoes the compression of a payload whose decompressed size the container states.
// Throws FormatError if the data are damaged or the size does not match.
std::string decompress(Compression compression, std::span<const std::byte> data, std::size_t size);

} // namespace warpfold::fatbin
