// A kernel on a CPU runs inside this process: what it does to memory, it does to the program, and what does
// not end does not end. Then nothing can be put right any more, but the student is told which rung it was.
#pragma once

#include "command_line.hpp"

namespace lab::opencl {

// As long as it lives, a signal that ends the process first prints the rung's verdict, and the exit code is
// that of a failure.
class Guard {
public:
  Guard(const char* rung, const Options& options);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

// As long as it lives, for half a minute at most: what takes longer is taken for endless, and the process
// ends as above.
class Stopwatch {
public:
  Stopwatch();
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
};

} // namespace lab::opencl
