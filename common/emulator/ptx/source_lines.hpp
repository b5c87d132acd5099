// Which source line each instruction is charged to: the `.loc` and `.file` directives (PTX ISA 11.5).
#pragma once

#include "ptx/module.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace warpfold::ptx {

struct SourcePosition {
  std::uint32_t file = 0, line = 0, column = 0; // file: the number that `.file` gives it
};

// Inlined code is charged to the innermost position that lies in the file of the outermost one: a device
// function of the program counts on its own lines, and what it calls of NVIDIA's headers on the line of the
// call.
//
// nvcc describes it by a chain: `.loc 1 7 3, function_name X, inlined_at 1 13 3` is written before any
// `.loc 2 440 9, function_name Y, inlined_at 1 7 3`. So when a position arrives, what the one that it was
// inlined at is charged to is known already, and following the chain is one look-up. The same position may
// be inlined twice (a device function called on two lines): the latest description holds.
class SourceLines {
public:
  SourceLines();
  // Finds the files of libraries: the `.file` directives come last in the text.
  void find_libraries(std::string_view text);
  void begin_function(std::string_view name);
  // A `.loc`; `inlined_at` is null where there is none. Gives the index into Module::locations.
  std::uint32_t locate(const SourcePosition& position, const SourcePosition* inlined_at);
  // Does the last position lie in a library, or in what a library calls? Where no position is known, the
  // function's name tells.
  bool of_library() const { return of_library_; }
  // A `.file`. Those that the text names twice keep the first name.
  void file(std::uint32_t number, std::string name);
  // The `.file` directives come last, so only now are file numbers exchanged for indices.
  void finish(Module& module);

private:
  std::uint32_t index_of(Location location);

  std::vector<Location> locations_{{}}; // file: still the number
  std::vector<std::string> files_{""};
  std::unordered_map<std::uint32_t, std::uint32_t> file_indices_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> location_indices_;
  struct Charged {
    Location to;
    std::uint32_t program_file = 0; // of the outermost position
    bool of_library = false;
  };
  std::unordered_map<std::uint64_t, Charged> charged_; // the positions seen in this function
  Location last_;
  std::set<std::uint32_t> library_files_; // numbers
  bool of_library_ = false;
};

} // namespace warpfold::ptx
