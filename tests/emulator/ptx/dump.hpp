// A parsed module as compact text: what the golden tests compare and `ptx_dump` prints.
#pragma once

#include "ptx/module.hpp"

#include <string>
#include <string_view>

namespace warpfold::ptx {

std::string dump(const Module& module);
// The same for a PTX text, or "error: ..." if it cannot be parsed.
std::string dump_or_error(std::string_view text);

} // namespace warpfold::ptx
