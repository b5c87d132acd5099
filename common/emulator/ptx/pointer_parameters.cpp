#include "ptx/pointer_parameters.hpp"

#include "ptx/registers.hpp"

#include <string_view>

namespace warpfold::ptx {
namespace {

// What a register may be counted from. `elsewhere`: from something that is no parameter, too.
struct Origin {
  ParameterWords words = 0;
  bool elsewhere = false;

  // Returns whether it has changed.
  bool add(const Origin& other) {
    const Origin before = *this;
    words |= other.words, elsewhere |= other.elsewhere;
    return words != before.words || elsewhere != before.elsewhere;
  }
};

class Origins {
public:
  Origins(const Function& kernel, std::span<const std::uint32_t> offsets)
      : kernel_(kernel), offsets_(offsets), origins_(kernel.registers.size()) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& each : kernel_.body) changed |= follow(each);
    }
  }

  ParameterWords words_of(const Instruction& access) const {
    Origin origin;
    for (const Operand& operand : access.operands)
      if (const auto* address = std::get_if<AddressOperand>(&operand.value))
        if (const auto* base = std::get_if<RegisterOperand>(&address->base))
          origin.add(origins_[base->index]);
    return origin.elsewhere ? 0 : origin.words;
  }

private:
  bool follow(const Instruction& each) {
    bool changed = false;
    if (each.operands.size() < fewest_operands(each)) return false; // the instruction itself reports it
    if (each.opcode == "ld" && each.has("param")) return take_parameters(each);
    const Origin origin = result_of(each);
    each_destination(each, [&](std::uint32_t index) { changed |= origins_[index].add(origin); });
    return changed;
  }

  static std::size_t fewest_operands(const Instruction& each) {
    if (each.opcode == "mad" || each.opcode == "selp") return 4;
    return each.opcode == "ld" ? 2 : 1;
  }

  bool take_parameters(const Instruction& load) {
    const auto* const address = std::get_if<AddressOperand>(&load.operands[1].value);
    const auto* const symbol = address ? std::get_if<Symbol>(&address->base) : nullptr;
    const bool is_kernels = symbol && symbol->scope == Symbol::Scope::parameter && is_wide(load);
    std::uint64_t at = is_kernels ? offsets_[symbol->index] + static_cast<std::uint64_t>(address->offset) : 1;
    bool changed = false;
    for (const Operand& value : values_of(load.operands[0])) {
      const bool is_word = at % 8 == 0 && at / 8 < 64;
      const Origin origin{is_word ? ParameterWords{1} << (at / 8) : 0, !is_word && is_wide(load)};
      each_register(value, [&](std::uint32_t index) { changed |= origins_[index].add(origin); });
      at += 8;
    }
    return changed;
  }

  Origin result_of(const Instruction& each) const {
    const auto is = [&](std::string_view opcode) { return each.opcode == opcode; };
    Origin origin;
    if (is("add") || is("sub"))
      for (std::size_t i = 1; i < each.operands.size(); ++i) origin.add(origin_of(each.operands[i]));
    else if (is("mov") || is("cvta") || is("selp"))
      for (std::size_t i = 1; i < (is("selp") ? 3 : each.operands.size()); ++i)
        origin.add(origin_of_copied(each.operands[i]));
    else if (is("mad"))
      origin = origin_of(each.operands[3]);
    else
      origin.elsewhere = (is("ld") || is("atom") || is("call") || is("mapa")) && is_wide(each);
    return origin;
  }

  Origin origin_of(const Operand& operand) const {
    if (const auto* one = std::get_if<RegisterOperand>(&operand.value)) return origins_[one->index];
    return {0, std::holds_alternative<SymbolOperand>(operand.value)};
  }

  // A number that is taken for an address comes from elsewhere; one that is added to an address does not.
  Origin origin_of_copied(const Operand& operand) const {
    return std::holds_alternative<Immediate>(operand.value) ? Origin{0, true} : origin_of(operand);
  }

  static bool is_wide(const Instruction& each) {
    return each.has("u64") || each.has("s64") || each.has("b64") || each.opcode == "call";
  }

  const Function& kernel_;
  std::span<const std::uint32_t> offsets_;
  std::vector<Origin> origins_; // by register
};

} // namespace

std::vector<ParameterWords> pointer_parameters(const Function& kernel,
                                               std::span<const std::uint32_t> offsets) {
  const Origins origins(kernel, offsets);
  std::vector<ParameterWords> words;
  words.reserve(kernel.body.size());
  for (const Instruction& each : kernel.body) words.push_back(origins.words_of(each));
  return words;
}

} // namespace warpfold::ptx
