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

// Inlined code is charged to the innermost position that is in the file of the outermost one: a device
// function of the program counts on its own lines, and code from NVIDIA's headers counts on the line of the
// call.
//
// nvcc describes it by a chain: `.loc 1 7 3, function_name X, inlined_at 1 13 3` is written before any
// `.loc 2 440 9, function_name Y, inlined_at 1 7 3`. So when a position arrives, it is already known
// where its call is charged, and following the chain takes one look-up. The same position may
// be inlined twice (a device function called on two lines): the latest description holds.
class SourceLines {
public:
  SourceLines();
  // Finds the files of libraries: the `.file` directives come last in the text.
  void find_libraries(std::string_view text);
  void begin_function(std::string_view name);
  // A `.loc`; `inlined_at` is null if there is none. Returns the index into Module::locations.
  std::uint32_t locate(const SourcePosition& position, const SourcePosition* inlined_at);
  // Does the last position lie in a library, or in what a library calls? If no position is known, the
  // function's name decides.
  bool of_library() const { return of_library_; }
  // Does it lie in another file than the line that it is charged to?
  bool of_other_file() const { return of_other_file_; }
  // A `.file`. If the text names a file twice, it keeps the first name.
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
    bool of_library = false, of_other_file = false;
  };
  std::unordered_map<std::uint64_t, Charged> charged_; // the positions seen in this function
  Location last_;
  std::set<std::uint32_t> library_files_; // numbers
  bool of_library_ = false, of_other_file_ = false;
};

} // namespace warpfold::ptx
