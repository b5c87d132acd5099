#include "naming.hpp"

#include <cstdlib>
#include <cxxabi.h>
#include <fmt/format.h>

namespace warpfold::watch {

namespace {

// "_ZZ4treePKfE5sdata" is tree(float const*)::sdata; this is the part that the program wrote.
std::string short_name(const std::string& mangled) {
  if (!mangled.starts_with("_Z")) return mangled; // the demangler would take `x` for a type
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 && text ? text : mangled;
  std::free(text);
  std::size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

} // namespace

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    if (static_cast<unsigned char>(letter) < ' ')
      out += ' ';
    else
      out += letter;
  }
  return out + '"';
}

std::string shared_name(const machine::Code& code, std::uint64_t offset, unsigned width) {
  const machine::Code::SharedName* found = nullptr;
  for (const auto& variable : code.shared_names)
    if (offset >= variable.offset && (variable.size == 0 || offset < variable.offset + variable.size))
      if (!found || variable.offset >= found->offset) found = &variable;
  if (!found) return fmt::format("byte {} of shared memory", offset);
  std::uint64_t inside = offset - found->offset;
  if (found->size == width) return short_name(found->name);
  constexpr unsigned widest_number = 8; // what is wider is a vector, of an array of vectors or of numbers
  if (inside % width || width > widest_number)
    return fmt::format("byte {} of {}", inside, short_name(found->name));
  return fmt::format("{}[{}]", short_name(found->name), inside / width);
}

std::string global_name(const machine::AddressSpace& memory, std::uint64_t address, unsigned width) {
  auto allocation = memory.find(address);
  if (!allocation) return fmt::format("0x{:x}", address);
  if (address < allocation->origin)
    return fmt::format("{} bytes before {}", allocation->origin - address, allocation->label);
  const std::uint64_t inside = address - allocation->origin;
  if (allocation->end() - allocation->origin == width) return allocation->label;
  if (inside % width) return fmt::format("byte {} of {}", inside, allocation->label);
  return fmt::format("{} {} of {}", width == 1 ? "byte" : "element", inside / width, allocation->label);
}

} // namespace warpfold::watch
