// The OpenCL device, and the program that was compiled for it.
#pragma once

#include "device.hpp"
#include "opencl/opencl.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace lab::opencl {

// A call that OpenCL refused.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The .cl file does not compile; the message is the compiler's.
struct BuildError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Device {
  std::string name, platform;
  bool is_gpu = false;
  std::size_t largest_group = 0;
};

// gpu: a GPU. emulator: a CPU. automatic: a GPU, else anything. Throws NoDevice.
Device open(Choice choice);

// Compiles the kernels for the open device. Throws BuildError.
void compile(const std::string& source);

// One run on these floats; gives the result. What the rung left in the input comes back in `input`.
float run(void (*reduce)(Run&), std::vector<float>& input, float before, std::size_t group);

} // namespace lab::opencl
