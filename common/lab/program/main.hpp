// A lab's program, from the command line to the exit code.
#pragma once

#include "lab.hpp"

#include <span>
#include <string>

namespace lab {

// `source`: the file that the student edits.
int run_lab(int argc, char** argv, const std::string& source, std::span<const Implementation> rungs);

} // namespace lab
