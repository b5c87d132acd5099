// Instructions and their operands (PTX ISA 4.3.2, 6).
#include "ptx/parser.hpp"

#include "ptx/specials.hpp"

namespace warpfold::ptx {

std::optional<Name> Parser::find(std::string_view name) const {
  if (const auto found = names_.find(name)) return found;
  const auto entry = function_indices_.find(name);
  if (entry == function_indices_.end()) return std::nullopt;
  return Name{Name::Kind::symbol, {Symbol::Scope::function, entry->second}, 0, 1};
}

void Parser::undeclared(std::string_view name) const {
  fail("'" + std::string(name.substr(0, 200)) + "' is not declared before it is used");
}

// Each distinct name is split into its parts once; thousands of instructions share a few hundred names.
const Text::InstructionName& Parser::intern(std::string_view name) {
  const auto [entry, fresh] = instruction_names_.try_emplace(name, nullptr);
  if (!fresh) return *entry->second;
  Text::InstructionName& cut = text_->names.emplace_back();
  std::size_t dot = name.find('.');
  cut.opcode = name.substr(0, dot);
  while (dot != name.npos) {
    const std::size_t next = name.find('.', dot + 1);
    cut.modifiers.push_back(name.substr(dot + 1, next - dot - 1));
    dot = next;
  }
  entry->second = &cut;
  return cut;
}

const Text::InstructionName& Parser::instruction_name() {
  std::string_view name = take_word("an instruction");
  if (token().kind == Token::Kind::directive) {
    std::string& joined = text_->joined.emplace_back(name);
    for (; token().kind == Token::Kind::directive; lexer_.advance()) joined += token().text;
    name = joined;
  }
  return intern(name);
}

void Parser::instruction() {
  Instruction read;
  read.location = location_;
  read.of_library = source_lines_.of_library(), read.of_other_file = source_lines_.of_other_file();
  read.text_line = token().line;
  if (token().is('@')) read.guard = guard();
  const Text::InstructionName& name = instruction_name();
  read.opcode = name.opcode;
  read.modifiers = name.modifiers;
  if (read.opcode == "bar" || read.opcode == "barrier")
    read.orders = std::exchange(next_barrier_orders_, Space::generic);
  function_.body.push_back(std::move(read));
  // Filled in place, because a label's fixup uses the number of instructions in the body.
  Operands operands;
  if (name.opcode == "call") {
    call_operands(operands);
  } else if (name.opcode == "bra") {
    operands.push_back(label_reference(take_word("a label"), 0, Fixup::no_element));
  } else if (!token().is(';')) {
    operands.reserve(4);
    do {
      operands.push_back(operand(operands.size()));
    } while (accept(','));
  }
  function_.body.back().operands = std::move(operands);
  expect(';', "after an instruction");
}

Guard Parser::guard() {
  lexer_.advance();
  Guard read;
  read.negated = accept('!');
  const std::string_view name = take_word("a predicate after '@'");
  const auto found = find(name);
  if (!found || found->kind != Name::Kind::reg) undeclared(name);
  if (function_.registers[found->index].type != Type::pred)
    fail("'" + std::string(name) + "' is not a predicate");
  read.predicate = static_cast<std::int32_t>(found->index);
  return read;
}

// `call.uni (results), callee, (arguments), prototype;` where everything but the callee is optional.
void Parser::call_operands(Operands& operands) {
  const auto list = [&] {
    VectorOperand read;
    if (!token().is('(')) return read;
    do {
      lexer_.advance();
      if (token().is(')')) break;
      read.elements.push_back(simple_operand());
    } while (token().is(','));
    expect(')', "to close the list of a call");
    return read;
  };
  const bool has_results = token().is('(');
  operands.push_back({list()});
  if (has_results) expect(',', "after the results of a call");
  if (token().kind != Token::Kind::word) expected("a function or a register to call");
  operands.push_back(simple_operand());
  bool more = accept(',');
  const bool has_arguments = more && token().is('(');
  operands.push_back({list()});
  if (has_arguments) more = accept(',');
  if (!more) return;
  const std::string_view name = take_word("a call prototype or a list of targets");
  const auto found = find(name);
  if (!found) undeclared(name);
  if (found->kind == Name::Kind::symbol) operands.push_back({SymbolOperand{found->symbol, 0}});
}

Operand Parser::operand(std::size_t index) {
  if (token().is('[')) return bracketed_operand();
  if (token().is('{')) return vector_operand();
  if (token().kind == Token::Kind::word) {
    const auto found = find(token().text);
    if (found && found->kind == Name::Kind::targets) {
      lexer_.advance();
      return list_of_targets(*found, index);
    }
  }
  Operand first = simple_operand();
  if (!token().is('|')) return first;
  lexer_.advance();
  PairOperand pair;
  const auto half = [&](const Operand& each, RegisterOperand& target, bool& is_sink) {
    if (const auto* named = std::get_if<RegisterOperand>(&each.value)) {
      target = *named;
    } else if (std::holds_alternative<Sink>(each.value)) {
      is_sink = true;
    } else {
      fail("both sides of '|' must be registers or '_'");
    }
  };
  half(first, pair.first, pair.first_is_sink);
  half(simple_operand(), pair.second, pair.second_is_sink);
  return {pair};
}

// A name, a constant or a negated predicate: the operands that may also occur in braces and in the lists of a
// call.
Operand Parser::simple_operand() {
  if (token().kind == Token::Kind::word) return name_operand();
  if (token().kind == Token::Kind::punctuation &&
      token().text.find_first_of("-+~!(") == std::string_view::npos) {
    expected("an operand");
  }
  if (!token().is('!')) return {constant()};
  lexer_.advance();
  if (token().kind != Token::Kind::word) {
    Immediate value = constant();
    value.bits = value.bits == 0;
    return {value};
  }
  Operand negated = name_operand();
  auto* named = std::get_if<RegisterOperand>(&negated.value);
  if (named == nullptr) fail("only a predicate can be negated");
  named->negated = true;
  return negated;
}

Operand Parser::name_operand() {
  const std::string_view name = token().text;
  if (name == "_") {
    lexer_.advance();
    return {Sink{}};
  }
  if (const auto found = find(name)) {
    switch (found->kind) {
    case Name::Kind::reg:
      lexer_.advance();
      return {RegisterOperand{found->index, false}};
    case Name::Kind::vector_register: {
      lexer_.advance();
      VectorOperand all;
      for (std::uint32_t part = 0; part < found->width; ++part) {
        all.elements.push_back({RegisterOperand{found->index + part, false}});
      }
      return {std::move(all)};
    }
    case Name::Kind::symbol: {
      lexer_.advance();
      const std::int64_t distance = offset();
      return {SymbolOperand{found->symbol, distance}};
    }
    case Name::Kind::targets:
      fail("a list of targets cannot stand here");
    }
  }
  if (const auto special = special_from(name)) {
    lexer_.advance();
    return {*special};
  }
  if (name == "WARP_SZ") return {constant()};
  return component_operand(name);
}

// `v.x` of a register declared `.reg .v4 .f32 v`.
Operand Parser::component_operand(std::string_view name) {
  const std::size_t dot = name.find('.');
  const auto found = dot != name.npos ? find(name.substr(0, dot)) : std::nullopt;
  if (!found || found->kind != Name::Kind::vector_register) undeclared(name);
  const std::string_view part = name.substr(dot + 1);
  std::size_t component = std::string_view("xyzw").find(part);
  if (component == part.npos) component = std::string_view("rgba").find(part);
  if (part.size() != 1 || component >= found->width) fail("'" + std::string(name) + "' names no component");
  lexer_.advance();
  return {RegisterOperand{found->index + static_cast<std::uint32_t>(component), false}};
}

Operand Parser::vector_operand() {
  expect('{', "to open a vector");
  VectorOperand read;
  do {
    if (token().is('}')) break;
    read.elements.push_back(simple_operand());
  } while (accept(','));
  expect('}', "to close a vector");
  return {std::move(read)};
}

// `[%rd1+8]`, and the forms for textures and tensors: `[map, {%r1, %r2}]`, `[%rd1, sampler, {%f1}]`.
Operand Parser::bracketed_operand() {
  expect('[', "to open an address");
  const AddressOperand read = address();
  if (accept(']')) return {read};
  VectorOperand all;
  all.elements.push_back({read});
  while (accept(',')) all.elements.push_back(token().is('{') ? vector_operand() : simple_operand());
  expect(']', "to close an address");
  return {std::move(all)};
}

AddressOperand Parser::address() {
  AddressOperand read;
  if (token().kind != Token::Kind::word) {
    const Immediate value = constant();
    if (value.kind != Immediate::Kind::integer) fail("an address cannot be a floating-point number");
    read.offset = static_cast<std::int64_t>(value.bits);
    return read;
  }
  const std::string_view name = token().text;
  const auto found = find(name);
  if (!found) undeclared(name);
  if (found->kind == Name::Kind::reg) {
    read.base = RegisterOperand{found->index, false};
  } else if (found->kind == Name::Kind::symbol) {
    read.base = found->symbol;
  } else {
    fail("'" + std::string(name) + "' cannot be an address");
  }
  lexer_.advance();
  read.offset = offset();
  return read;
}

// What is added to a name: nothing, "+8", "+-8", "-8+4".
std::int64_t Parser::offset() {
  std::uint64_t sum = 0;
  while (token().is('+') || token().is('-')) {
    const bool minus = token().is('-');
    lexer_.advance();
    const Immediate value = constant_factor();
    if (value.kind != Immediate::Kind::integer) fail("an offset must be an integer");
    sum += minus ? 0 - value.bits : value.bits;
  }
  return static_cast<std::int64_t>(sum);
}

Operand Parser::list_of_targets(const Name& name, std::size_t operand) {
  constexpr std::uint64_t most = 1 << 22;
  VectorOperand all;
  listed_target_count_ += target_lists_[name.index].size();
  if (listed_target_count_ > most) fail("more branch targets are listed than any program needs");
  for (const std::string_view target : target_lists_[name.index]) {
    all.elements.push_back(label_reference(target, operand, static_cast<std::uint32_t>(all.elements.size())));
  }
  return {std::move(all)};
}

Operand Parser::label_reference(std::string_view name, std::size_t operand, std::uint32_t element) {
  const auto instruction = static_cast<std::uint32_t>(function_.body.size() - 1);
  scopes_.back().fixups.push_back(
      {name, token().line, instruction, static_cast<std::uint32_t>(operand), element});
  return {LabelOperand{}};
}

} // namespace warpfold::ptx
