// Variables and registers (PTX ISA 5).
#include "ptx/parser.hpp"

#include <array>
#include <bit>

namespace warpfold::ptx {
namespace {

// More than any GPU has, and small enough to keep sums of sizes far from overflow.
constexpr std::uint64_t largest_variable = std::uint64_t{1} << 40;
constexpr std::uint64_t most_registers = 1 << 20; // of one function
constexpr std::uint64_t most_registers_in_module = 1 << 22;

} // namespace

bool Parser::space_from(std::string_view directive, Space& space) {
  constexpr std::array<std::pair<std::string_view, Space>, 6> spaces{{
      {".global", Space::global},
      {".const", Space::constant},
      {".shared", Space::shared},
      {".local", Space::local},
      {".param", Space::parameter},
      {".tex", Space::global},
  }};
  for (const auto& [name, value] : spaces) {
    if (name != directive) continue;
    space = value;
    return true;
  }
  return false;
}

Linkage Parser::linkage() {
  if (accept_word(".visible")) return Linkage::visible;
  if (accept_word(".extern")) return Linkage::external;
  if (accept_word(".weak")) return Linkage::weak;
  if (accept_word(".common")) return Linkage::common;
  return Linkage::local;
}

// `.align N`, `.attribute(...)`, `.ptr .global`: these may come in any order before a name.
bool Parser::attribute(Declarator& declarator) {
  if (accept_word(".align")) {
    const auto alignment = integer("an alignment", 1, 1 << 20);
    if (!std::has_single_bit(alignment)) fail("an alignment must be a power of two");
    declarator.alignment = static_cast<std::uint32_t>(alignment);
    return true;
  }
  if (!accept_word(".attribute")) return false;
  expect('(', "after '.attribute'");
  while (!accept(')')) {
    if (token().is(".managed")) declarator.is_managed = true;
    if (token().kind == Token::Kind::end || token().is(';')) expected("')' to close '.attribute'");
    lexer_.advance();
  }
  return true;
}

Parser::Declarator Parser::declarator(Space space, Linkage linkage) {
  Declarator read;
  read.space = space;
  read.linkage = linkage;
  bool pointee = false; // what follows `.ptr` describes what a pointer parameter points to
  while (token().kind == Token::Kind::directive) {
    const std::uint32_t alignment = read.alignment;
    if (attribute(read)) {
      if (pointee) read.alignment = alignment;
      continue;
    }
    Space pointed{};
    if (space == Space::parameter && (token().is(".ptr") || (pointee && space_from(token().text, pointed)))) {
      pointee = true;
      lexer_.advance();
      continue;
    }
    const std::string_view name = token().text.substr(1);
    if (name == "v2" || name == "v4" || name == "v8") {
      read.vector = static_cast<std::uint32_t>(name[1] - '0');
    } else if (name == "texref" || name == "samplerref" || name == "surfref") {
      read.opaque = true;
    } else if (const Type type = type_from(name); type != Type::none) {
      read.type = type;
    } else {
      expected("a type such as .b32");
    }
    lexer_.advance();
  }
  if (read.type == Type::none && !read.opaque) expected("a type such as .b32 before the name");
  if (read.type == Type::pred) fail("a variable in memory cannot be a predicate");
  return read;
}

// `[4][8]`: the number of elements; `unsized` if the first dimension is empty.
std::uint64_t Parser::dimensions(bool& unsized) {
  std::uint64_t count = 1;
  unsized = false;
  for (bool first = true; accept('['); first = false) {
    if (token().is(']')) {
      if (!first) fail("only the first dimension of an array may be left out");
      unsized = true;
    } else {
      const Immediate size = constant();
      const bool fits = size.kind == Immediate::Kind::integer && size.bits <= largest_variable;
      if (!fits || (size.bits != 0 && count > largest_variable / size.bits)) {
        fail("the size of an array is negative or too large");
      }
      count *= size.bits;
    }
    expect(']', "after the size of an array");
  }
  return count;
}

// Only parameters may be unnamed; `name` is then empty.
Variable Parser::variable(const Declarator& declarator, std::string_view& name) {
  Variable read;
  read.space = declarator.space;
  read.type = declarator.type;
  read.linkage = declarator.linkage;
  read.is_managed = declarator.is_managed;
  if (token().kind == Token::Kind::word || declarator.space != Space::parameter) {
    read.name = name = take_word("a name");
  }
  const std::uint32_t element =
      declarator.opaque ? 8 : static_cast<std::uint32_t>(size_of(declarator.type)) * declarator.vector;
  bool unsized = false;
  const std::uint64_t count = dimensions(unsized);
  if (count > largest_variable / element) fail("the array '" + read.name + "' is too large");
  read.size = unsized ? 0 : count * element;
  read.alignment = declarator.alignment != 0 ? declarator.alignment : element;
  read.is_extern = declarator.linkage == Linkage::external;
  if (accept('=')) {
    InitialiserList list;
    initialisers(list, element / declarator.vector, 0);
    if (unsized) read.size = list.end;
    if (list.end > read.size) fail("'" + read.name + "' has more initial values than elements");
    read.initial = std::move(list.values);
    for (const PendingSymbol& symbol : list.symbols)
      pending_symbols_.emplace_back(module_.variables.size(), symbol);
  } else if (unsized && !read.is_extern && declarator.space != Space::parameter) {
    fail("the array '" + read.name + "' has no size");
  }
  return read;
}

void Parser::module_variables(Space space, Linkage linkage) {
  const Declarator declared = declarator(space, linkage);
  do {
    std::string_view name;
    Variable read = variable(declared, name);
    declare_variable(name, std::move(read), Symbol::Scope::module_variable, module_.variables);
  } while (accept(','));
  expect(';', "after a declaration");
}

void Parser::body_variables(Space space) {
  const Declarator declared = declarator(space, Linkage::local);
  const bool own = space == Space::local || space == Space::shared || space == Space::parameter;
  do {
    std::string_view name;
    Variable read = variable(declared, name);
    if (own) {
      if (name.empty()) expected("a name");
      if (!read.initial.empty()) fail("'" + read.name + "' cannot have an initial value in this space");
      declare_variable(name, std::move(read), Symbol::Scope::local_variable, function_.variables);
    } else {
      declare_variable(name, std::move(read), Symbol::Scope::module_variable, module_.variables);
    }
  } while (accept(','));
  expect(';', "after a declaration");
}

void Parser::declare_variable(std::string_view name, Variable variable, Symbol::Scope scope,
                              std::vector<Variable>& list) {
  if (scope == Symbol::Scope::module_variable && function_indices_.contains(name)) {
    fail("'" + variable.name + "' is declared twice");
  }
  const auto index = static_cast<std::uint32_t>(list.size());
  if (names_.declare(name, Name{Name::Kind::symbol, {scope, index}, 0, 1})) {
    list.push_back(std::move(variable));
    return;
  }
  // Declared as `.extern` and defined later, or the reverse: both are one variable.
  const auto known = find(name);
  const bool same = known && known->kind == Name::Kind::symbol && known->symbol.scope == scope &&
                    scope == Symbol::Scope::module_variable;
  if (!same || (!list[known->symbol.index].is_extern && !variable.is_extern)) {
    fail("'" + variable.name + "' is declared twice");
  }
  if (variable.is_extern) return;
  for (auto pending = pending_symbols_.rbegin(); pending != pending_symbols_.rend(); ++pending) {
    if (pending->first != index) break;
    pending->first = known->symbol.index;
  }
  list[known->symbol.index] = std::move(variable);
}

Type Parser::register_type(std::uint32_t& width) {
  Type type = Type::none;
  width = 1;
  for (; token().kind == Token::Kind::directive; lexer_.advance()) {
    const std::string_view name = token().text.substr(1);
    if (name == "v2" || name == "v4") {
      width = static_cast<std::uint32_t>(name[1] - '0');
      continue;
    }
    type = type_from(name);
    if (type == Type::none) break;
  }
  if (type == Type::none) expected("a register type such as .b32");
  return type;
}

void Parser::registers() {
  std::uint32_t width = 1;
  const Type type = register_type(width);
  do {
    const std::string_view name = take_word("a register's name");
    if (accept('<')) {
      const std::uint64_t count = integer("a number of registers", 0, most_registers);
      expect('>', "after the number of registers");
      if (width != 1) fail("numbered registers cannot be vectors");
      const RegisterFamily family{add_registers(name, type, count, true), static_cast<std::uint32_t>(count)};
      if (!names_.declare_family(name, family)) fail("'" + std::string(name) + "' is declared twice");
      continue;
    }
    const auto kind = width == 1 ? Name::Kind::reg : Name::Kind::vector_register;
    if (!names_.declare(name, Name{kind, {}, add_registers(name, type, width, false), width})) {
      fail("'" + std::string(name) + "' is declared twice");
    }
  } while (accept(','));
  expect(';', "after a declaration");
}

std::uint32_t Parser::add_registers(std::string_view name, Type type, std::uint64_t count, bool numbered) {
  std::vector<Register>& list = function_.registers;
  const auto first = static_cast<std::uint32_t>(list.size());
  register_count_ += count;
  if (first + count > most_registers || register_count_ > most_registers_in_module) {
    fail("more registers are declared than any program needs");
  }
  std::string each(name);
  for (std::uint64_t number = 0; number < count; ++number) {
    each.resize(name.size());
    if (numbered) {
      each += std::to_string(number);
    } else if (count > 1) {
      each += {'.', "xyzw"[number]};
    }
    list.push_back({each, type});
  }
  return first;
}

} // namespace warpfold::ptx
