// Which barriers a kernel's items reach.
#pragma once

#include "judge/progress.hpp"
#include "opencl/context.hpp"
#include "opencl/rung.hpp"
#include "program/command_line.hpp"

namespace lab::opencl {

// What the barriers that the items reach say about a kernel; "" if all is well.
struct Barriers {
  std::string not_for_all; // some items of a group reach more of them than others
  std::string few;         // fewer of them than a tree has steps
  std::string other_memory;
};

Barriers look_at_barriers(const Rung& rung, const Device& device, const Options& options, Progress& progress);

} // namespace lab::opencl
