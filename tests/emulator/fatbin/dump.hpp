// The images of a file as text: what the cases compare and `fatbin_dump` prints.
#pragma once

#include "fatbin/container.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace warpfold::fatbin {

// The images of every fat binary in a file, which may be the output of `nvcc -fatbin` or a program.
std::vector<Image> images_in(std::string_view file);
// One line per image.
std::string list(const std::vector<Image>& images);
// The result of `read` for the bytes: the list, and the PTX that `choose` takes; or "error: ...".
std::string dump_or_error(std::string_view fat_binary);

} // namespace warpfold::fatbin
