#include "ptx/module.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace warpfold::ptx {
namespace {

struct TypeEntry {
  std::string_view name;
  std::uint8_t size;
};

// In the order of `Type`.
constexpr std::array<TypeEntry, 21> types{{
    {"none", 0}, {"pred", 0}, {"b8", 1},    {"b16", 2},  {"b32", 4},    {"b64", 8}, {"b128", 16},
    {"u8", 1},   {"u16", 2},  {"u32", 4},   {"u64", 8},  {"s8", 1},     {"s16", 2}, {"s32", 4},
    {"s64", 8},  {"f16", 2},  {"f16x2", 4}, {"bf16", 2}, {"bf16x2", 4}, {"f32", 4}, {"f64", 8},
}};
static_assert(types.size() == static_cast<std::size_t>(Type::f64) + 1);

} // namespace

std::size_t size_of(Type type) {
  return types[static_cast<std::size_t>(type)].size;
}

std::string_view name_of(Type type) {
  return types[static_cast<std::size_t>(type)].name;
}

Type type_from(std::string_view name) {
  for (std::size_t index = 1; index < types.size(); ++index) {
    if (types[index].name == name) return static_cast<Type>(index);
  }
  return Type::none;
}

bool Instruction::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string Instruction::name() const {
  std::string whole(opcode);
  for (const std::string_view modifier : modifiers) {
    whole += '.';
    whole += modifier;
  }
  return whole;
}

ParseError::ParseError(std::uint32_t line_, const std::string& message)
    : std::runtime_error("PTX, line " + std::to_string(line_) + ": " + message), line(line_) {}

} // namespace warpfold::ptx
