// Which of a kernel's parameters the addresses of its accesses may be counted from.
#pragma once

#include "ptx/module.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace warpfold::ptx {

// Some 64-bit words of a kernel's parameters: bit i stands for the word at byte 8 i.
using ParameterWords = std::uint64_t;

// By instruction of the kernel's body: the parameters that were added up, and not otherwise changed, to make
// its address. An index of 64 bits that counts bytes is among them, so not each holds a pointer. 0: none is
// known, as for an address that was loaded. `offsets` says where each parameter begins, in bytes.
std::vector<ParameterWords> pointer_parameters(const Function& kernel,
                                               std::span<const std::uint32_t> offsets);

} // namespace warpfold::ptx
