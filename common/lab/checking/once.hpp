// One run of a rung on numbers that can be added up in the head, for looking at and not for judging.
#pragma once

#include "command_line.hpp"
#include "result.hpp"

namespace lab {

// JSON: what the rung was given (1, 2, ... 9, 1, 2 ... and so on), what it should make of it, and
// what it made.
std::string look_once(const Rung& rung, const Options& options);

} // namespace lab
