// What a verdict needs to know about the terminal: how wide it is, and whether it shows colours.
#pragma once

#include "report/result.hpp"

#include <string>
#include <string_view>

namespace lab {

// The columns of standard output: COLUMNS if it is set, otherwise the terminal's. 0 means that there is no
// terminal, so lines stay whole.
unsigned terminal_width();

// Breaks the text into lines of at most `width` columns, but never breaks a word. The first line begins with
// `first`, each later one with `rest`. A width of 0 leaves the text as it is.
std::string wrapped(std::string_view text, unsigned width, std::string_view first, std::string_view rest);

// The state's name, padded to `width` columns, and in colour if standard output shows colours: on a terminal,
// or if CLICOLOR_FORCE says so, but never if NO_COLOR is set.
std::string painted(State state, unsigned width);

} // namespace lab
