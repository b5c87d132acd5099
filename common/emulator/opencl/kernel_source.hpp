// What the compiler notes about a program's kernels, read from LLVM's language.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace warpfold::opencl {

struct Argument {
  unsigned address_space = 0; // 0: a value; 1: global; 2: constant; 3: local
  std::string name, type, access, qualifiers;
};

struct KernelSource {
  std::string name;
  std::vector<Argument> arguments;
  std::array<std::size_t, 3> required_group{}; // reqd_work_group_size; zeros: any
};

std::vector<KernelSource> kernels_in(const std::string& llvm);

} // namespace warpfold::opencl
