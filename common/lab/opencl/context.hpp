// The OpenCL device and the program compiled for it.
#pragma once

#include "opencl/opencl.hpp"
#include "run/device.hpp"

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

// What can be counted in the kernels.
struct Countable {
  bool uses = false, barriers = false;
};
// Compiles the kernels for the open device. Throws BuildError.
Countable compile(const std::string& source);

// The order of a work-group's items. Between two barriers, OpenCL leaves the order to the device, and a CPU
// runs the items one after another, always in the same order. With `backwards`, the items are numbered from
// the last to the first, so that a kernel that is right only because of that order becomes wrong. With
// `counted`, the order is the device's, and each item counts what it does (counted.hpp). With `barriers`,
// each item counts the barriers that it reaches, and none waits.
enum class Order { as_it_comes, backwards, counted, barriers };

// The result of a run, the number of work-groups of its first launch, where something was written beside an
// array ("" if nothing was), whether items share local memory, and what the items counted.
struct Ran {
  float result = 0;
  std::size_t groups = 0;
  std::string damage = {};
  bool shares_local = false;
  std::vector<unsigned> uses = {};
};

// One run on these floats. `input` is updated with what the rung left in the input.
Ran run(void (*reduce)(Run&), std::vector<float>& input, float before, std::size_t group, Order order);

} // namespace lab::opencl
