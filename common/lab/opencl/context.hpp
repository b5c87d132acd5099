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

// What can be counted in the kernels.
struct Countable {
  bool uses = false, barriers = false;
};
// Compiles the kernels for the open device. Throws BuildError.
Countable compile(const std::string& source);

// Which of a work-group's items is the first: OpenCL leaves the order to the device between two barriers, and
// a CPU takes them one after the other, always in the same order. Backwards, the items are numbered from the
// last to the first, so that what is right by that order alone is not.
// Counted: as it comes, and each item counts what it does (counted.hpp). Barriers: each item counts the
// barriers that it comes to, and none waits.
enum class Order { as_it_comes, backwards, counted, barriers };

// What a run gave, the work-groups of its first launch, where something was written beside an array ("" where
// nothing was), whether items share local memory, and what the items counted.
struct Ran {
  float result = 0;
  std::size_t groups = 0;
  std::string damage = {};
  bool shares_local = false;
  std::vector<unsigned> uses = {};
};

// One run on these floats. What the rung left in the input comes back in `input`.
Ran run(void (*reduce)(Run&), std::vector<float>& input, float before, std::size_t group, Order order);

} // namespace lab::opencl
