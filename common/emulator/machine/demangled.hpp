// Names as the program wrote them.
#pragma once

#include <string>

namespace warpfold::machine {

// "tree(float const*)::partial", of "_ZZ4treePKfE7partial". A name that is not mangled stays as it is.
std::string demangled(const std::string& name);
// "partial", of the same.
std::string last_part(const std::string& name);

} // namespace warpfold::machine
