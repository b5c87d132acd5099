// The platform, and the CUDA runtime's devices as OpenCL devices.
#pragma once

#include "object.hpp"

#include <memory>
#include <string>
#include <vector>

struct _cl_platform_id : warpfold::opencl::Object<warpfold::opencl::Kind::platform> {};

struct _cl_device_id : warpfold::opencl::Object<warpfold::opencl::Kind::device> {
  int number = 0; // the runtime's
  cudaDeviceProp properties{};
};

namespace warpfold::opencl {

_cl_platform_id& platform();
const std::vector<std::unique_ptr<_cl_device_id>>& devices();

// In bytes: a sub-buffer begins at a multiple of this, as any type of OpenCL C can be at its beginning.
constexpr std::size_t base_alignment = 128;
constexpr std::size_t most_parameter_bytes = 4096;

// Makes a device the one that the thread's calls of the runtime are for, as long as this lives.
class OnDevice {
public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

private:
  int before_ = 0;
};

} // namespace warpfold::opencl
