#include "run/opencl/devices.hpp"

#include <string>
#include <vector>

namespace lab::opencl {
namespace {

// Of a call that fails, what is asked for stays 0.
template <class Value>
Value value_of(cl_device_id device, cl_device_info what) {
  Value value{};
  clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}

std::string name_of(cl_device_id device) {
  std::size_t size = 0;
  clGetDeviceInfo(device, CL_DEVICE_NAME, 0, nullptr, &size);
  std::string text(size, '\0');
  clGetDeviceInfo(device, CL_DEVICE_NAME, size, text.data(), nullptr);
  return text.c_str(); // up to the first 0
}

std::string platform_of(cl_device_id device) {
  char name[256] = "";
  clGetPlatformInfo(value_of<cl_platform_id>(device, CL_DEVICE_PLATFORM), CL_PLATFORM_NAME, sizeof name - 1,
                    name, nullptr);
  return name;
}

constexpr const char* emulators_platform = "Warpfold"; // emulator/opencl

std::vector<cl_device_id> devices_of(cl_device_type type) {
  cl_uint count = 0;
  std::vector<cl_device_id> found;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return found;
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    if (clGetDeviceIDs(platform, type, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> more(count);
    clGetDeviceIDs(platform, type, count, more.data(), nullptr);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

} // namespace

cl_device_id find_device(Choice choice) {
  const bool is_cpu = choice == Choice::cpu;
  auto found = devices_of(is_cpu ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU);
  std::erase_if(found, [](cl_device_id device) {
    return (platform_of(device) == emulators_platform) != on_emulator();
  });
  if (found.empty())
    throw NoDevice(
        on_emulator()
            ? "OpenCL's loader does not find the emulator's driver: either OpenCL's headers were missing "
              "when "
              "the build was set up (Debian: ocl-icd-opencl-dev), or the loader is one that does not read "
              "OCL_ICD_VENDORS, as CUDA's own (Debian's ocl-icd-libopencl1 does)"
        : is_cpu ? "OpenCL offers no CPU here (Debian: pocl-opencl-icd)"
                 : "OpenCL offers no GPU here; its driver may lack OpenCL");
  if (on_emulator() && !value_of<cl_bool>(found[0], CL_DEVICE_COMPILER_AVAILABLE))
    throw NoDevice("the emulator's OpenCL needs Clang and libclc of the same version (Debian: clang and "
                   "libclc-VERSION); --device=cpu runs the lab through PoCL (pocl-opencl-icd)");
  return found[0];
}

Device describe(cl_device_id id) {
  Device found;
  found.name = name_of(id) + " (" + platform_of(id) + ")";
  found.multiprocessors = value_of<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  found.memory = value_of<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  found.largest_block = static_cast<unsigned>(value_of<std::size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  found.runs_cuda = false;
  return found;
}

} // namespace lab::opencl
