// Function headers and bodies: attributes, scopes, labels (PTX ISA 5.1, 7.1, 11.2 to 11.4).
#include "ptx/parser.hpp"

#include <algorithm>

namespace warpfold::ptx {
namespace {

constexpr std::size_t deepest_scope = 128;
// What common/emulator/opencl makes of the flags of OpenCL's barrier().
constexpr std::string_view orders_shared = "warpfold orders shared", orders_global = "warpfold orders global",
                           orders_nothing = "warpfold orders nothing";

} // namespace

void Parser::function(bool is_entry, Linkage linkage) {
  names_.enter();
  function_ = {};
  function_.is_entry = is_entry;
  function_.linkage = linkage;
  Declarator ignored;
  while (attribute(ignored)) {
  }
  if (token().is('(')) parameter_list(function_.results, function_.result_registers, Symbol::Scope::result);
  if (is_entry && (!function_.results.empty() || !function_.result_registers.empty())) {
    fail("a kernel has no results");
  }
  const std::string_view name = take_word("the function's name");
  function_.name = name;
  if (token().is('('))
    parameter_list(function_.parameters, function_.parameter_registers, Symbol::Scope::parameter);
  function_attributes(function_);
  // The function's name is in the module's scope, outside of its parameters' scope; it must be known in the
  // body for recursion.
  const bool has_body = !accept(';');
  if (has_body && !token().is('{')) expected("'{' or ';' after a function's header");
  const std::uint32_t index = declare_function(name);
  if (has_body) {
    if (module_.functions[index].has_body) fail("the function '" + std::string(name) + "' is defined twice");
    body();
  }
  names_.leave();
  adopt(std::move(function_), index);
}

// The parameters' scope is already open, so the name is entered outside of it: a parameter of the same name
// hides it.
std::uint32_t Parser::declare_function(std::string_view name) {
  const auto entry = function_indices_.find(name);
  if (entry != function_indices_.end()) return entry->second;
  const auto index = static_cast<std::uint32_t>(module_.functions.size());
  if (const auto other = find(name); other && other->symbol.scope == Symbol::Scope::module_variable) {
    fail("'" + std::string(name) + "' is declared twice");
  }
  function_indices_.emplace(name, index);
  module_.functions.emplace_back().name = name;
  return index;
}

// A declaration never replaces a definition.
void Parser::adopt(Function function, std::uint32_t index) {
  Function& known = module_.functions[index];
  if (known.has_body && !function.has_body) return;
  if (known.linkage != Linkage::local && function.linkage == Linkage::local) function.linkage = known.linkage;
  known = std::move(function);
}

void Parser::parameter_list(std::vector<Variable>& variables, std::vector<std::uint32_t>& registers,
                            Symbol::Scope scope) {
  expect('(', "to open a list of parameters");
  while (!token().is(')')) {
    if (accept_word(".reg")) {
      std::uint32_t width = 1;
      const Type type = register_type(width);
      if (width != 1) fail("a parameter in a register cannot be a vector");
      const std::string_view name = take_word("a register's name");
      const std::uint32_t index = add_registers(name, type, 1, false);
      if (!names_.declare(name, Name{Name::Kind::reg, {}, index, 1})) fail("a parameter is declared twice");
      registers.push_back(index);
    } else {
      if (!accept_word(".param")) expected("'.param' or '.reg' in a list of parameters");
      const Declarator declared = declarator(Space::parameter, Linkage::local);
      std::string_view name;
      Variable read = variable(declared, name);
      if (name.empty() || name == "_") {
        variables.push_back(std::move(read));
      } else {
        declare_variable(name, std::move(read), scope, variables);
      }
    }
    if (!accept(',')) break;
  }
  expect(')', "to close a list of parameters");
}

void Parser::dimensions_of(std::uint32_t (&dimensions)[3]) {
  std::fill(std::begin(dimensions), std::end(dimensions), 1u);
  std::size_t count = 0;
  do {
    if (count == 3) fail("there are no more than three dimensions");
    dimensions[count++] = static_cast<std::uint32_t>(integer("a number of threads or blocks", 0, 0x7fffffff));
  } while (accept(','));
}

// Attributes that change nothing in the emulation are skipped. An unknown attribute may change anything, so
// it is refused.
void Parser::function_attributes(Function& function) {
  constexpr std::string_view passed_over[] = {
      ".minnctapersm",   ".maxnctapersm", ".maxnreg",      ".noreturn",
      ".maxclusterrank", ".unique",       ".abi_preserve", ".abi_preserve_control",
  };
  while (token().kind == Token::Kind::directive) {
    Declarator ignored;
    if (accept_word(".maxntid")) {
      dimensions_of(function.max_threads);
    } else if (accept_word(".reqntid")) {
      dimensions_of(function.required_threads);
    } else if (accept_word(".reqnctapercluster")) {
      dimensions_of(function.cluster);
    } else if (accept_word(".explicitcluster")) {
      function.explicit_cluster = true;
    } else if (accept_word(".blocksareclusters")) {
      function.blocks_are_clusters = true;
    } else if (token().is(".pragma")) {
      body_directive();
    } else if (std::find(std::begin(passed_over), std::end(passed_over), token().text) !=
               std::end(passed_over)) {
      lexer_.advance();
      std::uint32_t unused[3];
      if (token().kind == Token::Kind::number) dimensions_of(unused);
    } else if (!attribute(ignored)) {
      expected("'{', ';' or an attribute of a function");
    }
  }
}

void Parser::body() {
  function_.has_body = true;
  location_ = 0;
  greatest_target_ = 0;
  any_branch_ = false;
  source_lines_.begin_function(function_.name);
  target_lists_.clear();
  scopes_.clear();
  enter_scope();
  lexer_.advance();
  while (!scopes_.empty()) body_statement();
}

void Parser::enter_scope() {
  if (scopes_.size() >= deepest_scope) fail("braces are nested too deeply");
  names_.enter();
  scopes_.emplace_back();
}

// Labels belong to their scope: inlined assembly repeats `{ WAIT: ... bra WAIT; }` as often as it likes.
void Parser::leave_scope() {
  LabelScope inner = std::move(scopes_.back());
  scopes_.pop_back();
  names_.leave();
  for (const Fixup& fixup : inner.fixups) {
    const auto label = inner.labels.find(fixup.name);
    if (label == inner.labels.end()) {
      if (scopes_.empty()) {
        throw ParseError(fixup.line, "the label '" + std::string(fixup.name) + "' is not in this function");
      }
      scopes_.back().fixups.push_back(fixup);
      continue;
    }
    Operand& operand = function_.body[fixup.instruction].operands[fixup.operand];
    const bool whole = fixup.element == Fixup::no_element;
    Operand& place = whole ? operand : std::get<VectorOperand>(operand.value).elements[fixup.element];
    place.value = LabelOperand{label->second};
    greatest_target_ = std::max(greatest_target_, label->second);
    any_branch_ = true;
  }
  if (scopes_.empty()) end_body();
}

// Adds a `ret` if control can run off the end of the body.
void Parser::end_body() {
  const auto size = function_.body.size();
  bool falls_off = size == 0 || (any_branch_ && greatest_target_ == size);
  if (!falls_off) {
    const Instruction& last = function_.body.back();
    const bool ends = last.opcode == "ret" || last.opcode == "exit" || last.opcode == "trap" ||
                      last.opcode == "bra" || last.opcode == "brx";
    falls_off = !ends || last.guard.predicate >= 0;
  }
  if (!falls_off) return;
  Instruction& added = function_.body.emplace_back();
  const Text::InstructionName& name = intern("ret");
  added.opcode = name.opcode;
  added.modifiers = name.modifiers;
  added.location = location_;
  added.text_line = token().line;
}

void Parser::body_statement() {
  switch (token().kind) {
  case Token::Kind::word:
    if (lexer_.colon_follows()) {
      const std::string_view name = take_word("a label");
      lexer_.advance();
      return label(name);
    }
    return instruction();
  case Token::Kind::directive:
    return body_directive();
  case Token::Kind::punctuation:
    if (token().is('{')) {
      lexer_.advance();
      return enter_scope();
    }
    if (token().is('}')) {
      leave_scope();
      return lexer_.advance();
    }
    if (token().is(';')) return lexer_.advance();
    if (token().is('@')) return instruction();
    [[fallthrough]];
  default:
    expected("an instruction, a directive, a label or '}'");
  }
}

void Parser::body_directive() {
  Space space{};
  if (token().is(".loc")) {
    location_ = loc_directive();
    if (function_.location == 0) function_.location = location_;
  } else if (accept_word(".reg")) {
    registers();
  } else if (space_from(token().text, space)) {
    lexer_.advance();
    body_variables(space);
  } else if (accept_word(".pragma")) {
    for (; token().kind == Token::Kind::string || token().is(','); lexer_.advance()) {
      if (token().text == orders_shared) next_barrier_orders_ = Space::shared;
      if (token().text == orders_global) next_barrier_orders_ = Space::global;
      if (token().text == orders_nothing) next_barrier_orders_ = Space::local;
    }
    expect(';', "after '.pragma'");
  } else if (token().is(".file")) {
    file_directive();
  } else {
    fail("the directive " + describe(token()) + " is not known inside a function");
  }
}

void Parser::label(std::string_view name) {
  if (token().is(".callprototype")) return callprototype(name);
  if (token().is(".branchtargets") || token().is(".calltargets")) return target_list(name);
  const auto next = static_cast<std::uint32_t>(function_.body.size());
  if (!scopes_.back().labels.emplace(name, next).second) {
    fail("the label '" + std::string(name) + "' occurs twice in one scope");
  }
}

void Parser::callprototype(std::string_view name) {
  lexer_.advance();
  Prototype read;
  const std::size_t before = function_.registers.size();
  std::vector<std::uint32_t> unused;
  names_.enter();
  if (token().is('(')) parameter_list(read.results, unused, Symbol::Scope::result);
  take_word("'_' in a call prototype");
  if (token().is('(')) parameter_list(read.parameters, unused, Symbol::Scope::parameter);
  names_.leave();
  function_.registers.resize(before);
  Function ignored;
  function_attributes(ignored);
  expect(';', "after a call prototype");
  const auto index = static_cast<std::uint32_t>(function_.prototypes.size());
  function_.prototypes.push_back(std::move(read));
  if (!names_.declare(name, Name{Name::Kind::symbol, {Symbol::Scope::prototype, index}, 0, 1})) {
    fail("'" + std::string(name) + "' is declared twice");
  }
}

void Parser::target_list(std::string_view name) {
  lexer_.advance();
  const auto index = static_cast<std::uint32_t>(target_lists_.size());
  std::vector<std::string_view>& list = target_lists_.emplace_back();
  do {
    list.push_back(take_word("a label or a function's name"));
  } while (accept(','));
  expect(';', "after a list of targets");
  if (!names_.declare(name, Name{Name::Kind::targets, {}, index, 1})) {
    fail("'" + std::string(name) + "' is declared twice");
  }
}

} // namespace warpfold::ptx
