// What an analysis says of the first load of a kernel.
#pragma once

#include "ptx/module.hpp"

#include <string>
#include <string_view>
#include <vector>

// `analysis`: by instruction of the function's body, whether it is one of those that are looked for.
inline bool has_first_load(std::string_view body,
                           std::vector<bool> (*analysis)(const warpfold::ptx::Function& function)) {
  const std::string text = std::string(R"(.version 8.0
.target sm_75
.visible .entry k(.param .u64 p) {
  .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
)") + std::string(body) + "  ret;\n}\n";
  const auto module = warpfold::ptx::parse(text);
  const auto& function = module.functions.back();
  const auto found = analysis(function);
  for (std::size_t i = 0; i < function.body.size(); ++i)
    if (function.body[i].opcode == "ld") return found[i];
  return false;
}
