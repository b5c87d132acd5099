// A parsed module as compact text: what the golden tests compare and `ptx_dump` prints.
#pragma once

#include "ptx/module.hpp"

#include <string>

namespace warpfold::ptx {

std::string dump(const Module& module);

} // namespace warpfold::ptx
