#include "runtime/code/linking.hpp"

#include <fmt/format.h>
#include <iterator>
#include <stdexcept>
#include <unordered_map>

namespace warpfold::runtime {
namespace {

using ptx::Linkage;

bool is_definition(const ptx::Variable& variable) {
  return !variable.is_extern;
}
bool is_definition(const ptx::Function& function) {
  return function.has_body;
}
bool may_repeat(Linkage linkage) {
  return linkage == Linkage::weak || linkage == Linkage::common;
}

// Names from all modules, with their index in the joined list.
using Names = std::unordered_map<std::string, std::uint32_t>;

// For a module's symbols, their indices in the joined lists.
struct Places {
  std::vector<std::uint32_t> variables, functions, locations, files; // old index -> new index
};

// Adds `symbol` to `joined`, or merges it with the symbol of the same name. Returns its index there.
template <typename Symbol>
std::uint32_t place(Symbol& symbol, std::vector<Symbol>& joined, Names& names, std::vector<bool>& taken,
                    const char* what) {
  const auto next = static_cast<std::uint32_t>(joined.size());
  const bool shared = symbol.linkage != Linkage::local || !is_definition(symbol);
  if (shared) {
    auto [found, added] = names.try_emplace(symbol.name, next);
    if (!added) {
      Symbol& known = joined[found->second];
      const bool both = is_definition(known) && is_definition(symbol);
      if (both && !may_repeat(known.linkage) && !may_repeat(symbol.linkage))
        throw std::runtime_error(
            fmt::format("the {} {} is defined by two of the program's objects", what, symbol.name));
      taken.push_back(is_definition(symbol) && (!is_definition(known) || (both && may_repeat(known.linkage) &&
                                                                          !may_repeat(symbol.linkage))));
      if (taken.back()) known = std::move(symbol);
      return found->second;
    }
  }
  taken.push_back(true);
  joined.push_back(std::move(symbol));
  return next;
}

class Remapper {
public:
  explicit Remapper(const Places& places) : places_(places) {}

  void symbol(ptx::Symbol& symbol) const {
    if (symbol.scope == ptx::Symbol::Scope::module_variable)
      symbol.index = places_.variables.at(symbol.index);
    if (symbol.scope == ptx::Symbol::Scope::function) symbol.index = places_.functions.at(symbol.index);
  }

  void variable(ptx::Variable& variable) const {
    for (ptx::Initialiser& initialiser : variable.initial)
      if (initialiser.is_address) symbol(initialiser.symbol);
  }

  void function(ptx::Function& function) const {
    function.location = places_.locations.at(function.location);
    for (ptx::Variable& inner : function.variables) variable(inner);
    for (ptx::Instruction& instruction : function.body) {
      instruction.location = places_.locations.at(instruction.location);
      for (ptx::Operand& operand : instruction.operands) this->operand(operand);
    }
  }

private:
  void operand(ptx::Operand& operand) const {
    if (auto* named = std::get_if<ptx::SymbolOperand>(&operand.value)) symbol(named->symbol);
    if (auto* address = std::get_if<ptx::AddressOperand>(&operand.value))
      if (auto* base = std::get_if<ptx::Symbol>(&address->base)) symbol(*base);
    if (auto* list = std::get_if<ptx::VectorOperand>(&operand.value))
      for (ptx::Operand& element : list->elements) this->operand(element);
  }

  const Places& places_;
};

class Linker {
public:
  void add(ptx::Module module) {
    Places places;
    add_locations(module, places);
    std::vector<bool> taken_variables, taken_functions;
    for (ptx::Variable& variable : module.variables)
      places.variables.push_back(
          place(variable, joined_.variables, variable_names_, taken_variables, "variable"));
    for (ptx::Function& function : module.functions)
      places.functions.push_back(
          place(function, joined_.functions, function_names_, taken_functions, "function"));
    const Remapper remap(places);
    for (std::size_t i = 0; i < taken_variables.size(); ++i)
      if (taken_variables[i]) remap.variable(joined_.variables[places.variables[i]]);
    for (std::size_t i = 0; i < taken_functions.size(); ++i)
      if (taken_functions[i]) remap.function(joined_.functions[places.functions[i]]);
    texts_->push_back(module.text);
    take_version(module);
  }

  ptx::Module finish() {
    joined_.text = texts_;
    return std::move(joined_);
  }

private:
  void add_locations(const ptx::Module& module, Places& places) {
    for (const std::string& file : module.files) {
      auto [found, added] = file_names_.try_emplace(file, static_cast<std::uint32_t>(joined_.files.size()));
      if (added) joined_.files.push_back(file);
      places.files.push_back(found->second);
    }
    places.locations.push_back(0); // the unknown location
    for (auto location = std::next(module.locations.begin()); location != module.locations.end();
         ++location) {
      places.locations.push_back(static_cast<std::uint32_t>(joined_.locations.size()));
      joined_.locations.push_back({places.files.at(location->file), location->line});
    }
  }

  void take_version(const ptx::Module& module) {
    if (module.target > joined_.target) {
      joined_.target = module.target;
      joined_.target_suffix = module.target_suffix;
    }
    if (std::pair(module.version_major, module.version_minor) >
        std::pair(joined_.version_major, joined_.version_minor)) {
      joined_.version_major = module.version_major;
      joined_.version_minor = module.version_minor;
    }
  }

  ptx::Module joined_;
  Names variable_names_, function_names_, file_names_{{"", 0}};
  // Instructions refer to the texts of the modules that they came from.
  std::shared_ptr<std::vector<std::shared_ptr<const void>>> texts_ =
      std::make_shared<std::vector<std::shared_ptr<const void>>>();
};

} // namespace

ptx::Module link(std::vector<ptx::Module> modules) {
  if (modules.size() == 1) return std::move(modules.front());
  Linker linker;
  for (ptx::Module& module : modules) linker.add(std::move(module));
  return linker.finish();
}

} // namespace warpfold::runtime
