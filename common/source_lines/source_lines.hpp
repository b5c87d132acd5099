// Finds the lines of source that addresses of host code belong to, where a file was built with debug
// information. It runs addr2line, which is slow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpfold {

struct SourcePlace {
  std::string function;   // as the linker knows it
  std::string file;       // as the compiler was given it
  std::uint32_t line = 0; // 0: unknown

  // Not the program's own, by its path: the system's, the toolkit's, what nvcc generates, or unknown.
  bool is_of_system() const;
  // In the function that nvcc generates for a kernel and that its launch calls. The function that calls this
  // one is generated too, but stands in the program's file, in the kernel's line.
  bool is_in_stub() const;
  // "file:line"; the path is relative if the file lies below the current folder.
  std::string text() const;
};

// An address in memory as it is in the file that was loaded at `base` (dladdr's dli_fbase).
std::uint64_t address_in_file(const void* address, const void* base);

// The places in the source of `addresses` in a program or library: one for each address, or several where
// functions were inlined, the innermost first. None if addr2line cannot be run.
std::vector<SourcePlace> source_places(const std::string& module,
                                       const std::vector<std::uint64_t>& addresses);

} // namespace warpfold
