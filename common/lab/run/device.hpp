// The device that a lab program runs on: NVIDIA's, through NVIDIA's runtime, or the emulator, which stands in
// for that runtime when its folder is first on LD_LIBRARY_PATH.
#pragma once

#include "input/options.hpp"

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>

namespace lab {

struct Device {
  bool emulated = false;
  std::string name;
  int compute_capability = 0; // 75 for 7.5
  unsigned multiprocessors = 0, threads_per_multiprocessor = 0;
  std::size_t memory = 0, l2 = 0; // bytes
  unsigned count = 1;             // such devices that a rung over several devices may use
  unsigned largest_block = 1024;  // threads
  bool runs_cuda = true;          // else OpenCL alone
  double peak_bandwidth = 0;      // bytes per second by the device's attributes; 0: the driver does not say
};

// The requested device is not available: a reason to skip, with advice.
struct NoDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The emulator cannot be started: an error in the set-up, never a reason to skip.
struct NoEmulator : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Finds the device, and uses it. If the emulator is wanted (or no GPU is usable and the choice is automatic)
// but this process runs on NVIDIA's runtime, it executes the program again on the emulator and does not
// return. `devices`: how many there should be. The emulator makes as many, or 4; of GPUs, all there are
// unless fewer are wanted.
Device open_device(Choice choice, char** argv, std::optional<unsigned> devices = 1);

// Executes the program again without the emulator, if it runs on it.
void leave_emulator(char** argv);
// The emulator's folder.
std::string emulator_directory();

// The device in use.
const Device& device();
void use_device(const Device& found);

bool on_emulator();

} // namespace lab
