// What the command line asks for.
#pragma once

#include "argument_parser.hpp"
#include "device.hpp"
#include "promises/rung.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lab {

// A size of input, and threads per block, that a rung is tried on beside the usual ones.
struct MoreSize {
  std::size_t n = 0;
  std::optional<unsigned> block;
};

struct Options {
  bool list = false, json = false, tap = false, time = false, profile = false, solutions = false;
  bool once = false;                  // one run on small numbers, and no check
  std::vector<std::string> rungs;     // empty: all
  std::optional<std::size_t> n, rows; // rows: of the matrix, where a rung sums each row
  std::optional<unsigned> block;
  std::optional<double> time_limit; // seconds that a run of a rung may take
  Choice device = Choice::automatic;
  std::uint64_t seed = 1;
  std::vector<MoreSize> more;

  // For a class's grader (grading/host_process.hpp), all or none.
  std::optional<int> host, answer; // descriptors: of the student's process, and of what is told at the end
  std::string source, device_code; // paths: the student's file, the PTX of its kernels
  bool grading() const { return host.has_value(); }
};

// Nothing where only the help was asked for (it has been printed). Throws UsageError.
std::optional<Options> parse_command_line(int argc, char** argv, std::string_view lab,
                                          std::span<const Rung> rungs);

// Threads per block: as asked for, or 256, or the nearest to it that the rung takes.
unsigned block_for(const Rung& rung, const Options& options);

// Seconds that a run may take: as asked for, or 10, or more where a large n is asked for.
double time_limit_for(const Options& options);

// "1000", "2^20"; "1e6" is refused, in the name of the option. Throws UsageError.
std::size_t parse_count(std::string_view option, std::string_view text);

} // namespace lab
