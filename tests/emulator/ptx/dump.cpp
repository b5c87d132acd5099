#include "dump.hpp"

#include "ptx/control_flow.hpp"
#include "ptx/specials.hpp"

#include <fmt/format.h>

#include <iterator>
#include <unordered_set>

namespace warpfold::ptx {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

constexpr const char* space_names[] = {"generic", "global", "const", "shared", "local", "param"};
constexpr const char* linkage_names[] = {"", "visible ", "extern ", "weak ", "common "};

std::string signed_offset(std::int64_t offset) {
  return offset == 0 ? "" : fmt::format("{:+}", offset);
}

class Dumper {
public:
  explicit Dumper(const Module& module) : module_(module) {}

  std::string all() {
    line("version {}.{} target sm_{}{}", module_.version_major, module_.version_minor, module_.target,
         module_.target_suffix);
    for (std::size_t index = 1; index < module_.files.size(); ++index)
      line("file {} {}", index, module_.files[index]);
    for (const Variable& each : module_.variables) variable(each, "");
    for (const Function& each : module_.functions) function(each);
    return std::move(out_);
  }

private:
  template <typename... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    out_ += '\n';
  }

  std::string place(std::uint32_t location) const {
    const Location& at = module_.locations[location];
    return location == 0 ? "-" : fmt::format("{}:{}", at.file, at.line);
  }

  std::string symbol(const Symbol& named) const {
    using Scope = Symbol::Scope;
    switch (named.scope) {
    case Scope::module_variable:
      return module_.variables[named.index].name;
    case Scope::local_variable:
      return fmt::format("{}#{}", function_->variables[named.index].name, named.index);
    case Scope::parameter:
      return function_->parameters[named.index].name;
    case Scope::result:
      return function_->results[named.index].name;
    case Scope::function:
      return module_.functions[named.index].name + "()";
    case Scope::prototype:
      return fmt::format("prototype#{}", named.index);
    }
    return "?";
  }

  // Registers in different scopes may share a name; the index then tells which one is meant.
  std::string reg(std::uint32_t index) const {
    const std::string& name = function_->registers[index].name;
    return names_.count(name) > 1 ? fmt::format("{}@{}", name, index) : name;
  }

  std::string operand(const Operand& each) const {
    return std::visit(Overloaded{
                          [](const Sink&) -> std::string { return "_"; },
                          [&](const RegisterOperand& read) {
                            return fmt::format("{}{}", read.negated ? "!" : "", reg(read.index));
                          },
                          [](const Immediate& read) {
                            constexpr const char* kinds[] = {"", "f", "d"};
                            return fmt::format("{}0x{:x}", kinds[static_cast<int>(read.kind)], read.bits);
                          },
                          [](const SpecialOperand& read) {
                            return fmt::format("{}.{}", name_of(read.name), read.component);
                          },
                          [&](const SymbolOperand& read) {
                            return fmt::format("&{}{}", symbol(read.symbol), signed_offset(read.offset));
                          },
                          [](const LabelOperand& read) { return fmt::format("->{}", read.target); },
                          [&](const AddressOperand& read) { return fmt::format("[{}]", address(read)); },
                          [&](const VectorOperand& read) {
                            std::string all;
                            for (const Operand& element : read.elements)
                              all += fmt::format("{}{}", all.empty() ? "" : " ", operand(element));
                            return fmt::format("{{{}}}", all);
                          },
                          [&](const PairOperand& read) {
                            return (read.first_is_sink ? "_" : reg(read.first.index)) + "|" +
                                   (read.second_is_sink ? "_" : reg(read.second.index));
                          },
                      },
                      each.value);
  }

  std::string address(const AddressOperand& read) const {
    if (const auto* base = std::get_if<RegisterOperand>(&read.base)) {
      return reg(base->index) + signed_offset(read.offset);
    }
    if (const auto* base = std::get_if<Symbol>(&read.base)) return symbol(*base) + signed_offset(read.offset);
    return fmt::format("{}", read.offset);
  }

  void variable(const Variable& each, std::string_view indent) {
    line("{}{}{} {}{} {} size {} align {}{}", indent, linkage_names[static_cast<int>(each.linkage)],
         space_names[static_cast<int>(each.space)], each.is_managed ? "managed " : "", name_of(each.type),
         each.name, each.size, each.alignment, each.is_extern ? " extern" : "");
    for (const Initialiser& initial : each.initial) {
      if (initial.is_address) {
        line("{}  {}: {}&{}{} size {} shift {}", indent, initial.offset, initial.generic ? "generic " : "",
             symbol(initial.symbol), signed_offset(static_cast<std::int64_t>(initial.bits)), initial.size,
             initial.shift);
      } else {
        line("{}  {}: 0x{:x} size {}", indent, initial.offset, initial.bits, initial.size);
      }
    }
  }

  void limits(const char* name, const std::uint32_t (&values)[3]) {
    if (values[0] != 0) line("  {} {}x{}x{}", name, values[0], values[1], values[2]);
  }

  void function(const Function& each) {
    function_ = &each;
    names_.clear();
    for (const Register& named : each.registers) names_.insert(named.name);
    line("{}{} {}{} at {}", linkage_names[static_cast<int>(each.linkage)], each.is_entry ? "entry" : "func",
         each.name, each.has_body ? "" : " declared", place(each.location));
    for (const Variable& result : each.results) variable(result, "  result ");
    for (const Variable& parameter : each.parameters) variable(parameter, "  parameter ");
    for (const auto index : each.result_registers) line("  result {}", reg(index));
    for (const auto index : each.parameter_registers) line("  parameter {}", reg(index));
    limits("at most", each.max_threads);
    limits("exactly", each.required_threads);
    limits("cluster", each.cluster);
    if (each.blocks_are_clusters) line("  blocks are clusters");
    line("  registers {}", each.registers.size());
    for (const Variable& local : each.variables) variable(local, "  ");
    for (const Prototype& prototype : each.prototypes) {
      line("  prototype {} -> {}", prototype.parameters.size(), prototype.results.size());
    }
    if (each.has_body) body(each);
  }

  void body(const Function& each) {
    const std::vector<BasicBlock> blocks = basic_blocks(each);
    for (std::size_t index = 0; index < blocks.size(); ++index) {
      const BasicBlock& block = blocks[index];
      std::string next;
      for (const std::uint32_t successor : block.successors) next += fmt::format(" {}", successor);
      const bool meets = block.post_dominator != BasicBlock::none;
      line("  block {} ->{} meets {}", index, next, meets ? std::to_string(block.post_dominator) : "-");
      for (std::uint32_t at = block.begin; at < block.end; ++at) instruction(each.body[at], at);
    }
  }

  void instruction(const Instruction& each, std::uint32_t index) {
    std::string text;
    if (each.guard.predicate >= 0) {
      text = fmt::format("@{}{} ", each.guard.negated ? "!" : "",
                         reg(static_cast<std::uint32_t>(each.guard.predicate)));
    }
    text += each.name();
    for (const Operand& read : each.operands) text += fmt::format(" {}", operand(read));
    line("    {} {} {}", index, place(each.location), text);
  }

  const Module& module_;
  const Function* function_ = nullptr;
  std::unordered_multiset<std::string_view> names_; // of its registers
  std::string out_;
};

} // namespace

std::string dump(const Module& module) {
  return Dumper(module).all();
}

std::string dump_or_error(std::string_view text) {
  try {
    return dump(parse(text));
  } catch (const ParseError& error) {
    return fmt::format("error: {}\n", error.what());
  }
}

} // namespace warpfold::ptx
