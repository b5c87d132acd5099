// Initial values of variables (PTX ISA 5.4.4).
#include "ptx/parser.hpp"

#include <bit>

namespace warpfold::ptx {
namespace {

constexpr unsigned deepest_initialiser = 16;

} // namespace

void Parser::initialisers(InitialiserList& list, std::uint32_t element, unsigned depth) {
  if (!accept('{')) return initialiser(list, element);
  if (depth >= deepest_initialiser) fail("an initialiser is nested too deeply");
  while (!token().is('}')) {
    initialisers(list, element, depth + 1);
    if (!accept(',')) break;
  }
  expect('}', "to close the initial values");
}

// 12, 0f3F800000, name+8, generic(name)+8, or 0xFF00(generic(name)): the byte of the address that the mask
// selects.
void Parser::initialiser(InitialiserList& list, std::uint32_t element) {
  Initialiser read;
  read.offset = list.end;
  read.size = element;
  const std::uint32_t line = token().line;
  bool masked = false;
  if (token().kind != Token::Kind::word || token().is("WARP_SZ")) {
    const Immediate value = constant();
    read.bits = value.bits;
    if (value.kind == Immediate::Kind::real && element == 4) {
      read.bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(value.bits)));
    }
    masked = token().is('(') && value.kind == Immediate::Kind::integer && value.bits != 0;
    if (masked) {
      read.shift = static_cast<std::uint8_t>(std::countr_zero(value.bits));
      lexer_.advance();
    }
  }
  if (masked || token().kind == Token::Kind::word) {
    read.is_address = true;
    read.generic = token().is("generic");
    std::string_view name = take_word("a name whose address is meant");
    if (read.generic) {
      expect('(', "after 'generic'");
      name = take_word("a name whose address is meant");
      expect(')', "after the name in 'generic'");
    }
    read.bits = static_cast<std::uint64_t>(offset());
    if (masked) expect(')', "after a masked address");
    list.symbols.push_back({list.values.size(), name, line});
  }
  list.end += element;
  if (read.is_address || read.bits != 0) list.values.push_back(read);
}

// Runs only at the end, because a table of pointers may contain names that are declared after it.
void Parser::resolve_initialisers() {
  for (const auto& [owner, pending] : pending_symbols_) {
    const auto found = find(pending.name);
    if (!found || found->kind != Name::Kind::symbol) {
      throw ParseError(pending.line,
                       "an initial value names '" + std::string(pending.name) + "', which is not declared");
    }
    module_.variables[owner].initial[pending.initialiser].symbol = found->symbol;
  }
}

} // namespace warpfold::ptx
