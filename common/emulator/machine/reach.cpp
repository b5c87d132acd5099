#include "reach.hpp"

#include <unordered_set>

namespace warpfold::machine {

namespace {

class Walk {
public:
  Walk(const ptx::Module& module, std::uint32_t kernel) : module_(module) {
    add_function(kernel);
    // By index: a visit makes the list longer. NOLINTNEXTLINE(modernize-loop-convert)
    for (std::size_t i = 0; i < result_.functions.size(); ++i) visit(module_.functions[result_.functions[i]]);
  }
  Reach take() { return std::move(result_); }

private:
  void visit(const ptx::Function& function) {
    for (const ptx::Instruction& instruction : function.body) {
      if (instruction.opcode == "call") visit_call(instruction);
      for (const ptx::Operand& operand : instruction.operands) visit(operand);
    }
  }

  void visit_call(const ptx::Instruction& call) {
    result_.has_calls = true;
    bool indirect =
        call.operands.size() > 1 && std::holds_alternative<ptx::RegisterOperand>(call.operands[1].value);
    if (!indirect || tables_added_) return;
    tables_added_ = true; // the address may come from any table in the module
    for (const ptx::Variable& variable : module_.variables)
      for (const ptx::Initialiser& initial : variable.initial)
        if (initial.is_address) visit(initial.symbol);
  }

  void visit(const ptx::Operand& operand) {
    if (auto* symbol = std::get_if<ptx::SymbolOperand>(&operand.value)) visit(symbol->symbol);
    if (auto* special = std::get_if<ptx::SpecialOperand>(&operand.value))
      result_.uses_reserved_shared |= special->name >= ptx::Special::reserved_smem_offset_begin &&
                                      special->name != ptx::Special::envreg &&
                                      special->name != ptx::Special::pm;
    if (auto* address = std::get_if<ptx::AddressOperand>(&operand.value))
      if (auto* base = std::get_if<ptx::Symbol>(&address->base)) visit(*base);
    if (auto* vector = std::get_if<ptx::VectorOperand>(&operand.value))
      for (const ptx::Operand& element : vector->elements) visit(element);
  }

  void visit(const ptx::Symbol& symbol) {
    if (symbol.scope == ptx::Symbol::Scope::function) add_function(symbol.index);
    if (symbol.scope != ptx::Symbol::Scope::module_variable) return;
    const ptx::Variable& variable = module_.variables[symbol.index];
    if (variable.space == ptx::Space::shared && shared_seen_.insert(symbol.index).second)
      (variable.is_extern ? result_.dynamic_shared_variables : result_.shared_variables)
          .push_back(symbol.index);
  }

  void add_function(std::uint32_t index) {
    if (module_.functions[index].has_body && functions_seen_.insert(index).second)
      result_.functions.push_back(index);
  }

  const ptx::Module& module_;
  Reach result_;
  std::unordered_set<std::uint32_t> functions_seen_, shared_seen_;
  bool tables_added_ = false;
};

} // namespace

Reach reach(const ptx::Module& module, std::uint32_t kernel) {
  return Walk(module, kernel).take();
}

} // namespace warpfold::machine
