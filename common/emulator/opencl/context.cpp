#include "context.hpp"

#include "info.hpp"

#include <algorithm>

bool _cl_context::has(const _cl_device_id& device) const {
  return std::find(devices.begin(), devices.end(), &device) != devices.end();
}

namespace warpfold::opencl {
namespace {

std::vector<cl_context_properties> checked_properties(const cl_context_properties* given) {
  std::vector<cl_context_properties> copied;
  if (!given) return copied;
  for (; *given; given += 2) {
    for (std::size_t i = 0; i < copied.size(); i += 2)
      require(copied[i] != *given, CL_INVALID_PROPERTY, "a property is given twice");
    if (*given == CL_CONTEXT_PLATFORM)
      checked(reinterpret_cast<cl_platform_id>(given[1]), CL_INVALID_PLATFORM);
    else
      require(*given == CL_CONTEXT_INTEROP_USER_SYNC, CL_INVALID_PROPERTY);
    copied.insert(copied.end(), {given[0], given[1]});
  }
  copied.push_back(0);
  return copied;
}

// A buffer lies on its context's first device, and the others reach it there.
void let_reach_each_other(const std::vector<_cl_device_id*>& all) {
  for (const _cl_device_id* from : all)
    for (const _cl_device_id* to : all) {
      if (from == to) continue;
      const OnDevice current(from->number);
      const cudaError_t result = cudaDeviceEnablePeerAccess(to->number, 0);
      if (result == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
      else
        require_cuda(result);
    }
}

cl_context new_context(const cl_context_properties* properties, std::vector<_cl_device_id*> all) {
  auto made = std::make_unique<_cl_context>();
  made->properties = checked_properties(properties);
  let_reach_each_other(all);
  made->devices = std::move(all);
  return made.release();
}

} // namespace
} // namespace warpfold::opencl

using namespace warpfold::opencl;

extern "C" {

cl_context clCreateContext(const cl_context_properties* properties, cl_uint count, const cl_device_id* given,
                           void (*notify)(const char*, const void*, size_t, void*), void* data,
                           cl_int* code) {
  return created("clCreateContext", code, [&] {
    require(count > 0 && given && (notify || !data), CL_INVALID_VALUE);
    std::vector<_cl_device_id*> all;
    for (cl_uint i = 0; i < count; ++i) {
      _cl_device_id* const device = &checked(given[i], CL_INVALID_DEVICE);
      if (std::find(all.begin(), all.end(), device) == all.end()) all.push_back(device);
    }
    return new_context(properties, std::move(all));
  });
}

cl_context clCreateContextFromType(const cl_context_properties* properties, cl_device_type type,
                                   void (*notify)(const char*, const void*, size_t, void*), void* data,
                                   cl_int* code) {
  return created("clCreateContextFromType", code, [&] {
    require(notify || !data, CL_INVALID_VALUE);
    std::vector<_cl_device_id*> all(devices().size());
    cl_uint count = 0;
    if (const cl_int error =
            clGetDeviceIDs(&platform(), type, static_cast<cl_uint>(all.size()), all.data(), &count))
      throw Refusal(error);
    all.resize(count);
    return new_context(properties, std::move(all));
  });
}

cl_int clRetainContext(cl_context handle) {
  return retain_handle("clRetainContext", handle, CL_INVALID_CONTEXT);
}
cl_int clReleaseContext(cl_context handle) {
  return release_handle("clReleaseContext", handle, CL_INVALID_CONTEXT);
}

cl_int clGetContextInfo(cl_context handle, cl_context_info what, size_t room, void* where, size_t* size) {
  return status("clGetContextInfo", [&] {
    const _cl_context& context = checked(handle, CL_INVALID_CONTEXT);
    const Info info(room, where, size);
    switch (what) {
    case CL_CONTEXT_REFERENCE_COUNT:
      return info.value(context.references.load());
    case CL_CONTEXT_NUM_DEVICES:
      return info.value(static_cast<cl_uint>(context.devices.size()));
    case CL_CONTEXT_DEVICES:
      return info.list(context.devices);
    case CL_CONTEXT_PROPERTIES:
      return info.list(context.properties);
    default:
      throw Refusal(CL_INVALID_VALUE);
    }
  });
}

// The device has no images, and so there are no formats of them.
cl_int clGetSupportedImageFormats(cl_context handle, cl_mem_flags, cl_mem_object_type, cl_uint room,
                                  cl_image_format* formats, cl_uint* count) {
  return status("clGetSupportedImageFormats", [&] {
    checked(handle, CL_INVALID_CONTEXT);
    require(!formats || room > 0, CL_INVALID_VALUE);
    if (count) *count = 0;
  });
}
}
