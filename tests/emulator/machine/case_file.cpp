#include "case_file.hpp"

#include "machine/instructions/half.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace warpfold::cases {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

bool is_input(char letter) {
  return std::string_view("abcghi").find(letter) != std::string_view::npos;
}
bool is_output(char letter) {
  return std::string_view("def").find(letter) != std::string_view::npos;
}

ptx::Type last_type(std::string_view name) {
  ptx::Type type = ptx::Type::none;
  for (std::size_t at = name.find('.'); at != std::string_view::npos; at = name.find('.', at + 1))
    if (auto found = ptx::type_from(name.substr(at + 1, name.find('.', at + 1) - at - 1));
        found != ptx::Type::none)
      type = found;
  return type;
}

void note(std::vector<Operand>& operands, char letter, ptx::Type type) {
  auto place = std::lower_bound(operands.begin(), operands.end(), letter,
                                [](const Operand& operand, char sought) { return operand.letter < sought; });
  if (place != operands.end() && place->letter == letter) return;
  if (type == ptx::Type::none) throw std::runtime_error(fmt::format("the operand {} needs a type", letter));
  operands.insert(place, {letter, type});
}

// Removes the types from the heading and records which operands there are.
Instruction parse_heading(const std::string& text) {
  Instruction result;
  std::string name;
  bool in_name = true;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (in_name && end < text.size() && text[end] == '.') {
      while (end < text.size() && !std::isspace(static_cast<unsigned char>(text[end]))) ++end;
      name = text.substr(at, end - at);
      in_name = false;
    }
    if (end == at) {
      if (text[at] == ';') in_name = true;
      result.text += text[at++];
      continue;
    }
    std::string word = text.substr(at, end - at);
    result.text += word;
    bool stands_alone = word.size() == 1 && (at == 0 || text[at - 1] != '.');
    at = end;
    if (!stands_alone || !(is_input(word[0]) || is_output(word[0]))) continue;
    ptx::Type type = last_type(name);
    if (at < text.size() && text[at] == ':') {
      for (end = at + 1; end < text.size() && is_word(text[end]);) ++end;
      type = ptx::type_from(text.substr(at + 1, end - at - 1));
      at = end;
    }
    note(is_input(word[0]) ? result.inputs : result.outputs, word[0], type);
  }
  return result;
}

Lane parse_lane(const std::string& text, const Instruction& instruction) {
  Lane lane;
  std::istringstream words(text);
  bool outputs = false;
  for (std::string word; words >> word;) {
    if (word == "->") {
      outputs = true;
      continue;
    }
    auto& values = outputs ? lane.outputs : lane.inputs;
    const auto& operands = outputs ? instruction.outputs : instruction.inputs;
    if (values.size() == operands.size())
      throw std::runtime_error(fmt::format("{} is one value too many", word));
    values.push_back(parse_value(word, operands[values.size()].type));
  }
  if (lane.inputs.size() != instruction.inputs.size() || lane.outputs.size() != instruction.outputs.size())
    throw std::runtime_error(fmt::format("{} inputs and {} outputs are expected", instruction.inputs.size(),
                                         instruction.outputs.size()));
  return lane;
}

template <typename T>
double relative_difference(T expected, T found) {
  if (expected == found) return 0;
  return std::fabs(static_cast<double>(found) - static_cast<double>(expected)) /
         std::fabs(static_cast<double>(expected));
}

bool is_integer(ptx::Type type) {
  using enum ptx::Type;
  return type != f16 && type != bf16 && type != f32 && type != f64;
}

unsigned __int128 integer_bits(const std::string& text, std::size_t bytes) {
  bool negative = text.starts_with('-');
  bool hexadecimal = text.starts_with("0x");
  unsigned __int128 value = 0;
  for (char c : text.substr(negative ? 1 : hexadecimal ? 2 : 0)) {
    unsigned digit = std::isdigit(static_cast<unsigned char>(c)) ? static_cast<unsigned>(c - '0')
                     : hexadecimal && std::isxdigit(static_cast<unsigned char>(c))
                         ? static_cast<unsigned>(std::tolower(c) - 'a' + 10)
                         : 99;
    if (digit == 99) throw std::runtime_error(fmt::format("{} is no integer", text));
    value = value * (hexadecimal ? 16 : 10) + digit;
  }
  if (negative) value = -value;
  if (bytes < 16) value &= (static_cast<unsigned __int128>(1) << 8 * bytes) - 1;
  return value;
}

} // namespace

Value parse_value(std::string text, ptx::Type type) {
  using enum ptx::Type;
  Value value;
  if (text.starts_with('~')) {
    value.tolerance = type == f64 ? 0x1p-50 : 0x1p-21;
    text.erase(0, 1);
  }
  std::size_t bytes = type == pred ? 1 : ptx::size_of(type);
  if (text.starts_with('#')) {
    value.bits = integer_bits("0x" + text.substr(1), bytes);
    return value;
  }
  if (is_integer(type)) {
    value.bits = integer_bits(text, bytes);
    return value;
  }
  char* end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  if (*end || text.empty()) throw std::runtime_error(fmt::format("{} is no number", text));
  if (type == f64) value.bits = std::bit_cast<std::uint64_t>(number);
  if (type == f32) value.bits = std::bit_cast<std::uint32_t>(std::strtof(text.c_str(), nullptr));
  if (type == f16) value.bits = std::bit_cast<std::uint16_t>(machine::Half(number));
  if (type == bf16) value.bits = std::bit_cast<std::uint16_t>(machine::BFloat(number));
  return value;
}

namespace {

double number_of(unsigned __int128 bits, ptx::Type type) {
  using enum ptx::Type;
  if (type == f64) return std::bit_cast<double>(static_cast<std::uint64_t>(bits));
  if (type == f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type == f16) return double(std::bit_cast<machine::Half>(static_cast<std::uint16_t>(bits)));
  return double(std::bit_cast<machine::BFloat>(static_cast<std::uint16_t>(bits)));
}

} // namespace

bool agrees(const Value& expected, unsigned __int128 found, ptx::Type type) {
  if (type == ptx::Type::pred) return (expected.bits != 0) == (found != 0);
  if (std::size_t bytes = ptx::size_of(type); bytes < 16)
    found &= (static_cast<unsigned __int128>(1) << 8 * bytes) - 1;
  if (expected.bits == found) return true;
  if (is_integer(type)) return false;
  double wanted = number_of(expected.bits, type), is = number_of(found, type);
  if (wanted != wanted) return is != is;
  return expected.tolerance > 0 && relative_difference(wanted, is) <= expected.tolerance;
}

std::string show(unsigned __int128 bits, ptx::Type type) {
  std::string raw = fmt::format("#{:x}", static_cast<std::uint64_t>(bits));
  if (ptx::size_of(type) == 16)
    raw =
        fmt::format("#{:x}{:016x}", static_cast<std::uint64_t>(bits >> 64), static_cast<std::uint64_t>(bits));
  return is_integer(type) ? raw : fmt::format("{} ({})", raw, number_of(bits, type));
}

CaseFile read_cases(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  CaseFile result;
  std::uint32_t number = 0;
  try {
    for (std::string line; std::getline(file, line);) {
      ++number;
      std::size_t first = line.find_first_not_of(' ');
      if (first == std::string::npos || line[0] == '#') continue;
      if (first == 0 && line[0] == '.') {
        result.preamble += line + "\n";
      } else if (first == 0) {
        result.instructions.push_back(parse_heading(line));
        result.instructions.back().line = number;
      } else if (result.instructions.empty()) {
        throw std::runtime_error("a line of values without an instruction");
      } else if (line[first] == '!') {
        result.instructions.back().fault = line.substr(line.find_first_not_of(' ', first + 1));
      } else {
        Lane lane = parse_lane(line, result.instructions.back());
        lane.line = number;
        result.instructions.back().lanes.push_back(std::move(lane));
      }
    }
    for (const Instruction& instruction : result.instructions) {
      number = instruction.line;
      if (instruction.lanes.empty() && instruction.fault.empty())
        throw std::runtime_error("nothing is expected of it");
      if (instruction.lanes.size() > 32)
        throw std::runtime_error("a warp has 32 lanes, so no more lines than that");
    }
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}:{}: {}", path.string(), number, error.what()));
  }
  return result;
}

} // namespace warpfold::cases
