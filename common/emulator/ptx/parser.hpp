// The parser behind `parse`: recursive descent, one class, its members spread over files by subject:
//   parser.cpp        tokens and the directives of a module
//   declarations.cpp  variables, registers
//   initialisers.cpp  initial values of variables
//   functions.cpp     headers, bodies, scopes, labels
//   instructions.cpp  instructions and operands
//   constants.cpp     numbers and constant expressions
#pragma once

#include "ptx/lexer.hpp"
#include "ptx/module.hpp"
#include "ptx/names.hpp"
#include "ptx/source_lines.hpp"

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace warpfold::ptx {

// The text and the instruction names taken from it; lives as long as the module.
struct Text {
  struct InstructionName {
    std::string_view opcode;
    std::vector<std::string_view> modifiers;
  };
  std::string text;
  std::deque<std::string> joined; // names that the text writes in pieces: "add .u32"
  std::deque<InstructionName> names;
};

std::optional<Immediate> number_from(std::string_view text);

class Parser {
public:
  explicit Parser(std::string_view text);
  Module parse();

private:
  // Tokens.
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void expected(std::string_view what) const;
  const Token& token() const { return lexer_.current(); }
  bool accept(char character);
  void expect(char character, std::string_view after);
  bool accept_word(std::string_view word); // a word or a directive
  std::string_view take_word(std::string_view what);

  // Constants.
  std::uint64_t integer(std::string_view what, std::uint64_t least, std::uint64_t most);
  Immediate constant();
  Immediate constant_factor(); // a product: what may follow the sign of an offset
  Immediate constant_ternary();
  Immediate constant_binary(int least_precedence);
  Immediate constant_unary();
  std::string_view take_operator(int least_precedence, int& precedence);

  // Module level.
  void directive();
  void version();
  void target();
  void file_directive();
  std::uint32_t loc_directive();
  void alias_directive();
  void finish();

  // Declarations.
  struct Declarator { // everything before the name
    Space space = Space::global;
    Linkage linkage = Linkage::local;
    Type type = Type::none;
    std::uint32_t vector = 1;
    std::uint32_t alignment = 0;
    bool is_managed = false, opaque = false;
  };
  static bool space_from(std::string_view directive, Space& space);
  Linkage linkage();
  bool attribute(Declarator& declarator);
  Declarator declarator(Space space, Linkage linkage);
  Variable variable(const Declarator& declarator, std::string_view& name);
  std::uint64_t dimensions(bool& unsized);
  void module_variables(Space space, Linkage linkage);
  void body_variables(Space space);
  void declare_variable(std::string_view name, Variable variable, Symbol::Scope scope,
                        std::vector<Variable>& list);
  struct PendingSymbol {
    std::size_t initialiser;
    std::string_view name;
    std::uint32_t line;
  };
  struct InitialiserList {
    std::vector<Initialiser> values;
    std::vector<PendingSymbol> symbols;
    std::uint64_t end = 0; // bytes filled so far
  };
  void initialisers(InitialiserList& list, std::uint32_t element, unsigned depth);
  void initialiser(InitialiserList& list, std::uint32_t element);
  void resolve_initialisers();
  Type register_type(std::uint32_t& width);
  void registers();
  std::uint32_t add_registers(std::string_view name, Type type, std::uint64_t count, bool numbered);

  // Functions.
  void function(bool is_entry, Linkage linkage);
  void parameter_list(std::vector<Variable>& variables, std::vector<std::uint32_t>& registers,
                      Symbol::Scope scope);
  void function_attributes(Function& function);
  void dimensions_of(std::uint32_t (&dimensions)[3]);
  void adopt(Function function, std::uint32_t index);
  std::uint32_t declare_function(std::string_view name);
  void body();
  void body_statement();
  void body_directive();
  void label(std::string_view name);
  void callprototype(std::string_view name);
  void target_list(std::string_view name);
  void enter_scope();
  void leave_scope();
  void end_body();

  // Instructions.
  void instruction();
  const Text::InstructionName& intern(std::string_view name);
  const Text::InstructionName& instruction_name();
  Guard guard();
  void call_operands(Operands& operands);
  Operand operand(std::size_t index);
  Operand simple_operand();
  Operand name_operand();
  Operand component_operand(std::string_view name);
  Operand vector_operand();
  Operand bracketed_operand();
  AddressOperand address();
  std::int64_t offset();
  Operand list_of_targets(const Name& name, std::size_t operand);
  Operand label_reference(std::string_view name, std::size_t operand, std::uint32_t element);
  std::optional<Name> find(std::string_view name) const;
  [[noreturn]] void undeclared(std::string_view name) const;

  struct Fixup { // a label named in an operand, to be found when its scope ends
    std::string_view name;
    std::uint32_t line, instruction, operand, element;
    static constexpr std::uint32_t no_element = 0xffffffff;
  };
  struct LabelScope {
    std::unordered_map<std::string_view, std::uint32_t> labels;
    std::vector<Fixup> fixups;
  };

  std::shared_ptr<Text> text_;
  Lexer lexer_;
  Module module_;
  SourceLines source_lines_;
  Names names_;
  std::unordered_map<std::string_view, std::uint32_t> function_indices_;
  std::unordered_map<std::string_view, const Text::InstructionName*> instruction_names_;
  std::vector<std::pair<std::size_t, PendingSymbol>> pending_symbols_; // variable index, what it names
  std::vector<std::pair<std::string_view, std::string_view>> aliases_;
  // In the whole module: limits on what a few lines of text could multiply.
  std::uint64_t register_count_ = 0;
  std::uint64_t listed_target_count_ = 0;

  // The function whose body is being read.
  Function function_;
  std::vector<LabelScope> scopes_;
  std::vector<std::vector<std::string_view>> target_lists_;
  std::uint32_t location_ = 0;
  Space next_barrier_orders_ = Space::generic;
  std::uint32_t greatest_target_ = 0; // the last instruction that a branch leads to
  bool any_branch_ = false;
  unsigned depth_ = 0; // of nested expressions
};

} // namespace warpfold::ptx
