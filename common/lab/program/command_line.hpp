// The options of a lab's command line.
#pragma once

#include "input/options.hpp"
#include "program/argument_parser.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lab {

// Nothing if only the help was asked for (which has then been printed). Throws UsageError.
std::optional<Options> parse_command_line(int argc, char** argv, std::string_view lab,
                                          std::span<const Rung> rungs);

// Accepts "1000" and "2^20" but not "1e6"; the error names the option. Throws UsageError.
std::size_t parse_count(std::string_view option, std::string_view text);

} // namespace lab
