#include "naming.hpp"

#include "machine/demangled.hpp"

#include <fmt/format.h>

namespace warpfold::analysis {

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
  if (found->size == width) return machine::last_part(found->name);
  constexpr unsigned widest_number = 8; // what is wider is a vector, of an array of vectors or of numbers
  if (inside % width || width > widest_number)
    return fmt::format("byte {} of {}", inside, machine::last_part(found->name));
  return fmt::format("{}[{}]", machine::last_part(found->name), inside / width);
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

} // namespace warpfold::analysis
