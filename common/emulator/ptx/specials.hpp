// The special registers of PTX ISA 10, by the names that the text uses.
#pragma once

#include "ptx/module.hpp"

#include <optional>
#include <string_view>

namespace warpfold::ptx {

// "%tid.x", "%laneid", "%envreg3" (component 3), "%tid" (component 0: the whole vector is not told apart).
// Nothing if the name is not a special register.
std::optional<SpecialOperand> special_from(std::string_view name);
// Its name in the text, without the component.
std::string_view name_of(Special special);

} // namespace warpfold::ptx
