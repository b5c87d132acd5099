#include "runtime/launches/launch_words.hpp"

#include "runtime/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace warpfold::runtime {
namespace {

using machine::Dim3;

// The types of a function's parameters, from its name as in the source: the parts between the commas of its
// last pair of parentheses. Empty if the name has none, as that of an extern "C" function.
std::vector<std::string> parameter_types(const std::string& name) {
  std::vector<std::string> types;
  if (!name.ends_with(')')) return types;
  std::size_t begin = name.size();
  for (int depth = 0; begin-- > 0;) {
    if (name[begin] == ')') ++depth;
    if (name[begin] == '(' && --depth == 0) break;
  }
  int depth = 0;
  std::string type;
  for (std::size_t i = begin + 1; i < name.size(); ++i) {
    const char letter = name[i];
    if (depth == 0 && (letter == ',' || i + 1 == name.size())) {
      types.push_back(type);
      type.clear();
      continue;
    }
    if (letter == '(' || letter == '<' || letter == '[') ++depth;
    if (letter == ')' || letter == '>' || letter == ']') --depth;
    if (!type.empty() || letter != ' ') type += letter;
  }
  return types;
}

// "sum" of "void sum<float>(float const*, unsigned long)".
std::string bare_name(const std::string& name) {
  const std::string before = name.substr(0, name.find_first_of("<("));
  const std::size_t space = before.rfind(' ');
  return space == std::string::npos ? before : before.substr(space + 1);
}

template <class Number>
Number number_at(const std::byte* bytes) {
  Number number{};
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

bool is_pointer(std::string_view type) {
  return type.ends_with('*');
}

// "float" of "float const*".
std::string pointed_to(std::string_view pointer) {
  pointer.remove_suffix(1);
  constexpr std::string_view constant = " const";
  if (pointer.ends_with(constant)) pointer.remove_suffix(constant.size());
  return std::string(pointer);
}

std::optional<std::int64_t> integer_in(std::string_view type, const std::byte* bytes) {
  if (type == "int") return number_at<std::int32_t>(bytes);
  if (type == "unsigned int") return number_at<std::uint32_t>(bytes);
  if (type == "long" || type == "long long" || type == "unsigned long" || type == "unsigned long long")
    return number_at<std::int64_t>(bytes);
  return std::nullopt;
}

std::string pointer_in_words(std::uint64_t address) {
  if (address == 0) return "nullptr";
  const auto array = Runtime::get().memory.find(address);
  if (!array) return fmt::format("0x{:x}", address);
  const std::string bytes = fmt::format("({} bytes)", array->end() - array->origin);
  std::string name = array->label.ends_with(bytes) ? array->label : array->label + " " + bytes;
  if (address == array->origin) return name;
  return address > array->origin ? fmt::format("{} + {} bytes", name, address - array->origin)
                                 : fmt::format("{} - {} bytes", name, array->origin - address);
}

std::string argument_in_words(const std::string& type, const std::byte* bytes, std::size_t size) {
  if (is_pointer(type)) return pointer_in_words(number_at<std::uint64_t>(bytes));
  if (const auto integer = integer_in(type, bytes)) return std::to_string(*integer);
  if (type == "float") return fmt::format("{:.9g}", number_at<float>(bytes));
  if (type == "double") return fmt::format("{:.17g}", number_at<double>(bytes));
  if (type == "bool") return number_at<bool>(bytes) ? "true" : "false";
  return type.empty() ? fmt::format("{} bytes", size) : fmt::format("a {}", type);
}

std::string size_in_words(const Dim3& size) {
  if (size.y == 1 && size.z == 1) return std::to_string(size.x);
  return size.z == 1 ? fmt::format("({}, {})", size.x, size.y)
                     : fmt::format("({}, {}, {})", size.x, size.y, size.z);
}

// Calls `look(type, bytes, size)` for each argument.
template <class Look>
void each_argument(const PreparedLaunch& launch, const Look& look) {
  const std::vector<std::string> types = parameter_types(readable_name(*launch.entry));
  const auto& parameters = launch.kernel->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    look(types.size() == parameters.size() ? types[i] : std::string(),
         launch.parameters.data() + parameters[i].offset, parameters[i].size);
}

} // namespace

std::string call_in_words(const PreparedLaunch& launch) {
  std::string arguments;
  each_argument(launch, [&](const std::string& type, const std::byte* bytes, std::size_t size) {
    arguments += (arguments.empty() ? "" : ", ") + argument_in_words(type, bytes, size);
  });
  const std::uint32_t shared = launch.shape.dynamic_shared;
  return fmt::format("{}<<<{}, {}{}>>>({})", bare_name(readable_name(*launch.entry)),
                     size_in_words(launch.shape.grid), size_in_words(launch.shape.block),
                     shared ? fmt::format(", {}", shared) : "", arguments);
}

namespace {

// The array to which an argument points, from there on. The table needs no destructor: kernels of several
// devices still come to an end after those of the process have run.
struct Behind {
  std::uint64_t address = 0, elements = 0, width = 0; // 0 elements: it is not known
};
Behind behind(const std::string& type, const std::byte* bytes) {
  static constexpr std::pair<std::string_view, std::uint64_t> sizes[] = {
      {"char", 1},   {"signed char", 1},  {"unsigned char", 1}, {"short", 2},     {"unsigned short", 2},
      {"int", 4},    {"unsigned int", 4}, {"float", 4},         {"double", 8},    {"long", 8},
      {"float2", 8}, {"float4", 16},      {"unsigned long", 8}, {"long long", 8}, {"unsigned long long", 8}};
  const auto* const size =
      std::ranges::find(sizes, pointed_to(type), &std::pair<std::string_view, std::uint64_t>::first);
  const auto address = number_at<std::uint64_t>(bytes);
  const auto array = Runtime::get().memory.find(address);
  if (size == std::end(sizes) || !array || address < array->origin) return {};
  return {address, (array->end() - address) / size->second, size->second};
}

// An index that came out negative, as that of an int does from 2^31 on.
bool has_overflowed(const machine::Fault& fault, const Behind& array) {
  constexpr std::uint64_t lost = std::uint64_t{1} << 32;
  if (array.elements == 0 || fault.address >= array.address) return false;
  const std::uint64_t before = array.address - fault.address;
  return before % array.width == 0 && before / array.width <= lost / 2 &&
         lost - before / array.width < array.elements;
}

} // namespace

machine::Fault::Argument argument_behind(const machine::Fault& fault, const PreparedLaunch& launch) {
  using Argument = machine::Fault::Argument;
  Argument found = Argument::none;
  std::uint64_t number = 0;
  bool has_zero = false;
  struct Array {
    std::string type;
    std::uint64_t elements;
    bool may_be_meant;
  };
  std::vector<Array> arrays;
  each_argument(launch, [&](const std::string& type, const std::byte* bytes, std::size_t) {
    const bool may_be_meant = fault.pointer_at < 0 || bytes - launch.parameters.data() == fault.pointer_at;
    if (is_pointer(type)) {
      if (may_be_meant && fault.is_of_null && number_at<std::uint64_t>(bytes) == 0) found = Argument::null;
      const Behind array = behind(type, bytes);
      if (may_be_meant && has_overflowed(fault, array)) found = Argument::overflowed;
      arrays.push_back({type, array.elements, may_be_meant});
    }
    const auto integer = integer_in(type, bytes);
    has_zero = has_zero || integer == 0;
    if (integer && fault.elements != 0 && *integer > 0 &&
        static_cast<std::uint64_t>(*integer) > fault.element)
      found = Argument::more_than_elements, number = static_cast<std::uint64_t>(*integer);
  });
  if (found == Argument::null && has_zero) return Argument::null_and_zero;
  if (fault.elements != 0 && fault.element == fault.block && launch.shape.grid.count() > fault.elements)
    return Argument::more_blocks;
  if (found != Argument::more_than_elements) return found;
  const auto accessed = std::ranges::find_if(
      arrays, [&](const Array& each) { return each.may_be_meant && each.elements == fault.elements; });
  const bool fits_another = accessed != arrays.end() && std::ranges::any_of(arrays, [&](const Array& array) {
                              return array.type == accessed->type && array.elements >= number;
                            });
  return fits_another ? Argument::swapped : found;
}

bool points_to_bytes(const PreparedLaunch& launch, std::int64_t at) {
  bool found = false;
  each_argument(launch, [&](const std::string& type, const std::byte* bytes, std::size_t) {
    if (bytes - launch.parameters.data() == at && is_pointer(type)) found = behind(type, bytes).width == 1;
  });
  return found;
}

} // namespace warpfold::runtime
