// Programs that the driver runs, and the folder for their files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace warpfold::opencl {

// A program's path, if a folder of $PATH has it.
std::optional<std::string> on_path(const std::string& program);

struct Finished {
  int status = 0;     // its exit status, or 128 and the signal that ended it
  std::string output; // what it wrote on stdout and stderr
};
// `words`: the program's path and its arguments. Throws std::runtime_error if it cannot be started.
Finished run_program(const std::vector<std::string>& words);

// This process's own, removed when it ends.
const std::filesystem::path& temporary_folder();

} // namespace warpfold::opencl
