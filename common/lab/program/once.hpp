// One run of a rung on numbers that can be added up in the head, to be looked at, not judged.
#pragma once

#include "program/command_line.hpp"
#include "report/result.hpp"

namespace lab {

// JSON: the rung's input (1, 2, ... 9, 1, 2 and so on), the expected results and its results; with --tree,
// how the first of these was made (explain/result_tree.hpp).
std::string look_once(const Rung& rung, const Options& options);

} // namespace lab
