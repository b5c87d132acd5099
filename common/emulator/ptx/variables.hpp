// Where a compiler keeps a variable: in a register, in several with copies between them, or, in a debug
// build, in local memory.
#pragma once

#include "ptx/module.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace warpfold::ptx {

// A variable in local memory: base register and offset.
using StackPlace = std::pair<std::uint32_t, std::int64_t>;
// Its address, where the instruction loads or stores such a variable; else null.
const AddressOperand* stack_place(const Function& function, const Instruction& instruction,
                                  StackPlace& place);

// Which registers hold one value, as far as copies tell: by mov and cvta, and by way of local memory. The
// order in which they happen is not looked at.
class Variables {
public:
  explicit Variables(const Function& function);
  // The same number for each register of a variable.
  std::uint32_t of(std::uint32_t index) const;
  bool is_same_place(const AddressOperand& one, const AddressOperand& other) const;

private:
  std::vector<std::uint32_t> same_; // as this one: registers, then places in local memory and symbols
  std::map<StackPlace, std::uint32_t> places_;
  std::map<std::pair<Symbol::Scope, std::uint32_t>, std::uint32_t> symbols_; // their addresses
  std::uint32_t of_symbol(const Symbol& symbol);
  void join(std::uint32_t one, std::uint32_t other);
};

} // namespace warpfold::ptx
