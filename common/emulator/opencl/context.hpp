#pragma once

#include "device.hpp"

struct _cl_context : warpfold::opencl::Object<warpfold::opencl::Kind::context> {
  std::vector<_cl_device_id*> devices;
  std::vector<cl_context_properties> properties; // as given, with the 0 at the end

  bool has(const _cl_device_id& device) const;
};
