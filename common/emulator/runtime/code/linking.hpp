// Does what the driver's linker does for programs built with -rdc=true: several PTX modules become one.
#pragma once

#include "ptx/module.hpp"

#include <vector>

namespace warpfold::runtime {

// Joins the modules: what one declares and another defines becomes one symbol (PTX ISA 11.6, linking
// directives). Throws std::runtime_error if a symbol is defined twice. Undefined symbols stay external.
ptx::Module link(std::vector<ptx::Module> modules);

} // namespace warpfold::runtime
