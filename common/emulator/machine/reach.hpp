// What a kernel can reach: the functions that it may call, and the shared memory that they name.
#pragma once

#include "ptx/module.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace warpfold::machine {

struct Reach {
  std::vector<std::uint32_t> functions;                // of the module, with a body; the kernel first
  std::vector<std::uint32_t> shared_variables;         // of the module, sized at compile time
  std::vector<std::uint32_t> dynamic_shared_variables; // `extern __shared__`, sized by the launch
  bool has_calls = false;
  bool uses_reserved_shared = false; // reads %reserved_smem_offset_...
};

// Shared memory that the system reserves since sm_80, in which cooperative groups of several warps
// synchronise. A kernel that asks for it gets it after its own variables.
inline constexpr std::uint32_t reserved_shared_bytes = 1024;

Reach reach(const ptx::Module& module, std::uint32_t kernel);

// Bytes of shared memory that the kernel has before the launch adds its own; `place(function, variable,
// offset)` is called for each variable (function `module_scope` for the module's own).
inline constexpr std::uint32_t module_scope = ~0u;
template <typename Place>
std::uint32_t lay_out_shared(const ptx::Module& module, const Reach& reached, Place place) {
  std::uint64_t bytes = 0;
  auto add = [&](const ptx::Variable& variable, std::uint32_t scope, std::uint32_t index) {
    std::uint64_t alignment = variable.alignment ? variable.alignment : 1;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    place(scope, index, bytes);
    bytes += variable.size;
  };
  for (std::uint32_t index : reached.shared_variables) add(module.variables[index], module_scope, index);
  for (std::uint32_t function : reached.functions) {
    const auto& variables = module.functions[function].variables;
    for (std::uint32_t i = 0; i < variables.size(); ++i)
      if (variables[i].space == ptx::Space::shared && !variables[i].is_extern) add(variables[i], function, i);
  }
  constexpr std::uint64_t alignment = 16;
  if (reached.uses_reserved_shared)
    bytes = (bytes + alignment - 1) / alignment * alignment + reserved_shared_bytes;
  constexpr std::uint64_t refused_by_any_launch = 1u << 30;
  return static_cast<std::uint32_t>(std::min(bytes, refused_by_any_launch));
}

} // namespace warpfold::machine
