#include "demangled.hpp"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace warpfold::machine {

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name; // the demangler would take `x` for a type
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

std::string last_part(const std::string& name) {
  const std::string whole = demangled(name);
  const std::size_t scope = name.starts_with("_Z") ? whole.rfind("::") : whole.npos;
  return scope == whole.npos ? whole : whole.substr(scope + 2);
}

} // namespace warpfold::machine
