// What a lab program is asked for.
#pragma once

#include "promises/rung.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

enum class Choice { automatic, gpu, emulator, cpu }; // cpu: in OpenCL

// A size of the input, and of a block, on which a rung is tried in addition to the usual ones.
struct MoreSize {
  std::size_t n = 0;
  std::optional<unsigned> block;
};

struct Options {
  bool list = false, json = false, tap = false, time = false, profile = false, solutions = false;
  bool once = false;                  // one run on small numbers without a check
  bool tree = false;                  // of that run: how the result was made
  std::vector<std::string> rungs;     // empty: all
  std::optional<std::size_t> n, rows; // rows: of the matrix, if a rung sums each row
  std::optional<unsigned> block;
  std::optional<unsigned> devices = 1; // of rungs over several devices; nothing: as many as there should be
  std::optional<double> time_limit;    // seconds that a run of a rung may take
  Choice device = Choice::automatic;
  std::uint64_t seed = 1;
  std::vector<MoreSize> more;

  // For a class's grader (run/sandboxed/device_process.hpp); given all together or not at all, but for
  // OpenCL, where the host functions are the course's own: there, a host and device code are not given.
  std::optional<int> host, answer; // descriptors: of the student's process, and for the answer at the end
  std::string source, device_code; // paths: the student's file, and the PTX of its kernels
  bool grading() const { return answer.has_value(); }
  // In OpenCL: compile the kernels of `source`, run none.
  bool compile_only = false;

  bool asks_for(std::string_view rung) const;
};

// Threads per block: as asked for, or 256, or the nearest to 256 that the rung accepts.
unsigned block_for(const Rung& rung, const Options& options);

// Seconds that a run may take: as asked for, or 10, or more if a large n is asked for.
double time_limit_for(const Options& options);

} // namespace lab
