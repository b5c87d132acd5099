// OpenCL C to PTX, with the machine's Clang and libclc: first to LLVM's language, in which built-in functions
// are still calls; then linked to libclc and translated.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace warpfold::opencl {

// Whether there are a Clang and a libclc, of whatever version.
bool compiler_is_available();

struct Translation {
  bool succeeded = false;
  std::string text; // LLVM's language or PTX
  std::string log;  // what the compiler said
};

struct Header {
  std::string name, text;
};

// `options`: those of clBuildProgram, checked (options.hpp). Lines are named as in the file that holds the
// source.
Translation translate(const std::string& source, const std::vector<std::string>& options,
                      const std::vector<Header>& headers);

// `with_launch_values`: get_global_id and the like know the launch's offset and dimensions (built_ins.hpp).
Translation link(const std::vector<std::string>& parts, const std::vector<std::string>& options,
                 bool with_launch_values);

} // namespace warpfold::opencl
