// Which of OpenCL's devices a lab runs on.
#pragma once

#include "opencl.hpp"
#include "run/device.hpp"

namespace lab::opencl {

// On the emulator, the emulated device. Else a GPU, or a CPU if that is asked for. Throws NoDevice.
cl_device_id find_device(Choice choice);

// What OpenCL says of a device that is not emulated.
Device describe(cl_device_id device);

} // namespace lab::opencl
