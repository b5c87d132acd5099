// Everything that lab 10 sees of OpenCL's host side: one run of a rung, and the program around it.
//
// The checks, inputs and verdicts are those of every lab. What differs is how kernels come to a device: they
// are text in the lab's .cl file, which the device's driver compiles when the program runs.
#pragma once

#include "lab.hpp"

#include <variant>
#include <vector>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

namespace lab::opencl {

class Context;

// Local memory for a work-group, as a number of floats.
struct Local {
  std::size_t floats;
};
using Argument = std::variant<cl_mem, cl_ulong, Local>;

// What a rung's host function works with: n floats at `input`, one float at `result`.
class Run {
public:
  Run(const Context& context, cl_mem run_input, cl_mem run_result, std::size_t elements, std::size_t items)
      : input(run_input), result(run_result), n(elements), group(items), context_(context) {}
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const cl_mem input, result;
  const std::size_t n;
  const std::size_t group; // work-items per work-group

  // Memory for so many partial sums, given back after the run.
  cl_mem scratch(std::size_t floats);
  // Starts `groups` work-groups of a kernel of the .cl file; commands run in the order of the calls.
  void launch(const char* kernel, std::size_t groups, std::initializer_list<Argument> arguments);

private:
  const Context& context_;
  std::vector<cl_mem> scratch_;
};

// A rung's name with its host function.
struct Implementation {
  const char* rung;
  void (*reduce)(Run& run);
};

// Like lab::main. `source` is the lab's .cpp file; its .cl file is beside it.
int main(int argc, char** argv, std::initializer_list<Implementation> rungs,
         const char* source = __builtin_FILE());

} // namespace lab::opencl
