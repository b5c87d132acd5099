#include "ptx/parser.hpp"

#include <algorithm>

namespace warpfold::ptx {
namespace {

// The bytes of a name that are not ASCII are written as \ooo, and a quote or backslash after a backslash.
std::string unescaped(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const bool escaped = text.front() == '\\' && text.size() > 1;
    if (escaped) text.remove_prefix(1);
    const std::size_t digits =
        escaped ? std::min({text.find_first_not_of("01234567"), text.size(), std::size_t{3}}) : 0;
    unsigned byte = 0;
    for (const char digit : text.substr(0, digits)) byte = 8 * byte + static_cast<unsigned>(digit - '0');
    plain += digits > 0 ? static_cast<char>(byte) : text.front();
    text.remove_prefix(std::max(digits, std::size_t{1}));
  }
  return plain;
}

} // namespace

Module parse(std::string_view text) {
  return Parser(text).parse();
}

Parser::Parser(std::string_view text)
    : text_(std::make_shared<Text>()), lexer_([&]() -> const std::string& {
        text_->text = text;
        return text_->text;
      }()) {
  module_.text = text_;
  source_lines_.find_libraries(text_->text);
}

void Parser::fail(const std::string& message) const {
  throw ParseError(token().line, message);
}

void Parser::expected(std::string_view what) const {
  fail("expected " + std::string(what) + ", found " + describe(token()));
}

bool Parser::accept(char character) {
  if (!token().is(character)) return false;
  lexer_.advance();
  return true;
}

void Parser::expect(char character, std::string_view after) {
  if (!accept(character)) expected("'" + std::string(1, character) + "' " + std::string(after));
}

bool Parser::accept_word(std::string_view word) {
  if (!token().is(word)) return false;
  lexer_.advance();
  return true;
}

std::string_view Parser::take_word(std::string_view what) {
  if (token().kind != Token::Kind::word) expected(what);
  const std::string_view text = token().text;
  lexer_.advance();
  return text;
}

Module Parser::parse() {
  if (!token().is(".version")) expected("'.version', with which every PTX file begins");
  lexer_.advance();
  version();
  if (!accept_word(".target")) expected("'.target' after the version");
  target();
  while (token().kind != Token::Kind::end) directive();
  finish();
  return std::move(module_);
}

void Parser::version() {
  const std::string_view text = token().text;
  const std::size_t dot = text.find('.');
  const auto part = [&](std::string_view digits) {
    const auto number = number_from(digits);
    if (token().kind != Token::Kind::number || !number || number->bits > 999) {
      expected("a version such as 9.0");
    }
    return static_cast<int>(number->bits);
  };
  if (dot == text.npos) expected("a version such as 9.0");
  module_.version_major = part(text.substr(0, dot));
  // After the dot, "10" means ten, and "08" would be octal: read the minor number as decimal.
  std::string_view minor = text.substr(dot + 1);
  while (minor.size() > 1 && minor[0] == '0') minor.remove_prefix(1);
  module_.version_minor = part(minor);
  lexer_.advance();
}

void Parser::target() {
  do {
    const std::string_view name = take_word("a target such as sm_75");
    if (name == "debug") module_.is_debug = true;
    if (!name.starts_with("sm_")) continue; // texmode_independent, map_f64_to_f32
    std::size_t end = 3;
    int number = 0;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9' && number < 10000) {
      number = number * 10 + (name[end++] - '0');
    }
    if (end == 3 || number >= 10000)
      fail("expected a target such as sm_75, found '" + std::string(name) + "'");
    module_.target = number;
    module_.target_suffix = name.substr(end);
  } while (accept(','));
  if (module_.target == 0) fail("the '.target' directive names no architecture such as sm_75");
}

void Parser::directive() {
  if (token().kind != Token::Kind::directive) expected("a directive such as '.entry' or '.global'");
  const Linkage link = linkage();
  Space space{};
  if (accept_word(".entry")) return function(true, link);
  if (accept_word(".func")) return function(false, link);
  if (space_from(token().text, space) && space != Space::parameter) {
    lexer_.advance();
    return module_variables(space, link);
  }
  if (link != Linkage::local) expected("'.entry', '.func' or a state space after a linking directive");
  if (accept_word(".address_size")) {
    integer("address size 64: the emulator has no 32-bit addresses", 64, 64);
  } else if (token().is(".file")) {
    file_directive();
  } else if (token().is(".loc")) {
    loc_directive();
  } else if (accept_word(".section")) {
    lexer_.advance(); // its name, a word or a directive
    if (!token().is('{')) expected("'{' after the name of a section");
    lexer_.skip_braces();
  } else if (accept_word(".pragma")) {
    do {
      if (token().kind != Token::Kind::string) expected("a string after '.pragma'");
      lexer_.advance();
    } while (accept(','));
    expect(';', "after '.pragma'");
  } else if (accept_word(".alias")) {
    alias_directive();
  } else {
    fail("the directive " + describe(token()) + " is not known here");
  }
}

void Parser::file_directive() {
  lexer_.advance();
  const auto number = integer("a file number", 0, 0xffffffff);
  if (token().kind != Token::Kind::string) expected("a file name in quotes");
  source_lines_.file(static_cast<std::uint32_t>(number), unescaped(token().text));
  lexer_.advance();
  for (int stamps = 0; stamps < 2 && accept(','); ++stamps)
    integer("a time stamp or size", 0, ~std::uint64_t{0});
}

std::uint32_t Parser::loc_directive() {
  lexer_.advance();
  const auto position = [&] {
    SourcePosition read;
    read.file = static_cast<std::uint32_t>(integer("a file number", 0, 0xffffffff));
    read.line = static_cast<std::uint32_t>(integer("a line number", 0, 0xffffffff));
    read.column = static_cast<std::uint32_t>(integer("a column", 0, 0xffffffff));
    return read;
  };
  const SourcePosition here = position();
  SourcePosition outer;
  bool inlined = false;
  while (accept(',')) {
    if (accept_word("function_name")) {
      take_word("a label after 'function_name'");
      if (accept('+')) integer("an offset", 0, ~std::uint64_t{0});
    } else if (accept_word("inlined_at")) {
      outer = position();
      inlined = true;
    } else {
      expected("'function_name' or 'inlined_at'");
    }
  }
  return source_lines_.locate(here, inlined ? &outer : nullptr);
}

void Parser::alias_directive() {
  const std::string_view name = take_word("a function's name after '.alias'");
  expect(',', "between the two names of '.alias'");
  const std::string_view aliasee = take_word("a function's name");
  expect(';', "after '.alias'");
  for (const std::string_view each : {name, aliasee}) {
    const auto found = find(each);
    if (!found || found->kind != Name::Kind::symbol || found->symbol.scope != Symbol::Scope::function) {
      fail("'.alias' names '" + std::string(each) + "', which is not a function declared before it");
    }
  }
  aliases_.emplace_back(name, aliasee);
}

void Parser::finish() {
  resolve_initialisers();
  constexpr std::size_t most_copied_instructions = 1 << 20;
  std::size_t copied = 0;
  for (const auto& [name, aliasee] : aliases_) {
    Function& alias = module_.functions[find(name)->symbol.index];
    const Function& original = module_.functions[find(aliasee)->symbol.index];
    if (!original.has_body)
      fail("'.alias' gives '" + std::string(aliasee) + "' another name, but it has no body");
    if (alias.has_body) fail("'.alias' names '" + std::string(name) + "', which has a body of its own");
    copied += original.body.size();
    if (copied > most_copied_instructions) fail("more is aliased than any program needs");
    const Linkage link = alias.linkage;
    alias = Function(original);
    alias.name = name;
    alias.linkage = link;
  }
  source_lines_.finish(module_);
}

} // namespace warpfold::ptx
