// The trusted half of a graded lab program: the student's host functions run in another process, which sits
// in a sandbox (common/recorder), and what they ask of the device is done here, with the student's PTX, on
// the emulator. Neither the inputs nor what is expected ever leaves this process, but for what a rung is
// allowed to read back.
#pragma once

#include "promises/rung.hpp"

#include <span>
#include <stdexcept>
#include <string>

namespace lab {

struct Options;

// The student's process ended, went silent, or said what makes no sense: nothing more can be run with it.
struct HostLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// From now on the rungs' host functions are those of the process at the other end of `options.host`, and
// kernels are those of the PTX in `options.device_code`. The rungs must be in the order of the lab's main().
// Throws HostLost, and std::runtime_error where the PTX cannot be read.
void use_host_process(std::span<Rung> rungs, const Options& options);

// "" or what is to be said beside a wrong result of the last run: what the host function asked for in vain.
std::string asked_in_vain();

} // namespace lab
