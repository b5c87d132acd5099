// What a verdict needs to know of the terminal that it is read in: how wide it is, and whether it shows
// colours.
#pragma once

#include "result.hpp"

#include <string>
#include <string_view>

namespace lab {

// Columns of standard output: COLUMNS where it is set, else the terminal's. 0: no terminal, so lines stay
// whole.
unsigned terminal_width();

// Lines no longer than `width` where words allow it: a word is never broken. The first begins with `first`,
// each that follows with `rest`. A width of 0 leaves the text as it is.
std::string wrapped(std::string_view text, unsigned width, std::string_view first, std::string_view rest);

// The state's name, filled up to `width` columns, and in colour where standard output shows them: on a
// terminal, or where CLICOLOR_FORCE says so, and never where NO_COLOR is set.
std::string painted(State state, unsigned width);

} // namespace lab
