#include "device.hpp"

#include "compiler.hpp"
#include "info.hpp"

#include <algorithm>

namespace warpfold::opencl {

namespace {

constexpr const char* extensions =
    "cl_khr_icd cl_khr_byte_addressable_store cl_khr_global_int32_base_atomics "
    "cl_khr_global_int32_extended_atomics cl_khr_local_int32_base_atomics "
    "cl_khr_local_int32_extended_atomics cl_khr_fp64 cl_ext_buffer_device_address";

std::vector<std::unique_ptr<_cl_device_id>> find_devices() {
  int count = 0;
  require_cuda(cudaGetDeviceCount(&count), CL_DEVICE_NOT_FOUND);
  std::vector<std::unique_ptr<_cl_device_id>> found;
  for (int number = 0; number < count; ++number) {
    found.push_back(std::make_unique<_cl_device_id>());
    found.back()->number = number;
    require_cuda(cudaGetDeviceProperties(&found.back()->properties, number), CL_DEVICE_NOT_FOUND);
  }
  return found;
}

std::size_t extent(const int* limits, int axis) {
  return static_cast<std::size_t>(limits[axis]);
}

int attribute(const _cl_device_id& device, cudaDeviceAttr which) {
  int value = 0;
  require_cuda(cudaDeviceGetAttribute(&value, which, device.number));
  return value;
}

void answer_about_limits(const _cl_device_id& device, cl_device_info what, const Info& info) {
  const cudaDeviceProp& known = device.properties;
  switch (what) {
  case CL_DEVICE_MAX_COMPUTE_UNITS:
    return info.value(static_cast<cl_uint>(known.multiProcessorCount));
  case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
    return info.value(cl_uint{3});
  case CL_DEVICE_MAX_WORK_ITEM_SIZES:
    return info.list(std::vector<std::size_t>{extent(known.maxThreadsDim, 0), extent(known.maxThreadsDim, 1),
                                              extent(known.maxThreadsDim, 2)});
  case CL_DEVICE_MAX_WORK_GROUP_SIZE:
    return info.value(static_cast<std::size_t>(known.maxThreadsPerBlock));
  case CL_DEVICE_MAX_CLOCK_FREQUENCY: // in MHz
    return info.value(static_cast<cl_uint>(attribute(device, cudaDevAttrClockRate) / 1000));
  case CL_DEVICE_ADDRESS_BITS:
    return info.value(cl_uint{64});
  case CL_DEVICE_MAX_MEM_ALLOC_SIZE: // the specification asks for at least a quarter of the memory
    return info.value(cl_ulong{known.totalGlobalMem / 4});
  case CL_DEVICE_MAX_PARAMETER_SIZE:
    return info.value(most_parameter_bytes);
  case CL_DEVICE_MEM_BASE_ADDR_ALIGN: // in bits
    return info.value(static_cast<cl_uint>(8 * base_alignment));
  case CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE:
    return info.value(static_cast<cl_uint>(base_alignment));
  case CL_DEVICE_GLOBAL_MEM_SIZE:
    return info.value(cl_ulong{known.totalGlobalMem});
  case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
    return info.value(cl_ulong{known.totalConstMem});
  case CL_DEVICE_MAX_CONSTANT_ARGS:
    return info.value(cl_uint{8});
  case CL_DEVICE_LOCAL_MEM_SIZE:
    return info.value(cl_ulong{known.sharedMemPerBlock});
  case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE:
    return info.value(cl_uint{128});
  case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
    return info.value(static_cast<cl_ulong>(known.l2CacheSize));
  case CL_DEVICE_PRINTF_BUFFER_SIZE:
    return info.value(std::size_t{1} << 20);
  case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
    return info.value(cl_uint{0});
  case CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR:
  case CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT:
  case CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT:
  case CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG:
  case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
  case CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE:
  case CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR:
  case CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT:
  case CL_DEVICE_NATIVE_VECTOR_WIDTH_INT:
  case CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG:
  case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
  case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE:
    return info.value(cl_uint{1});
  case CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF:
  case CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF: // cl_khr_fp16 is not offered
  case CL_DEVICE_MAX_READ_IMAGE_ARGS:
  case CL_DEVICE_MAX_WRITE_IMAGE_ARGS:
  case CL_DEVICE_MAX_SAMPLERS:
    return info.value(cl_uint{0});
  case CL_DEVICE_IMAGE2D_MAX_WIDTH:
  case CL_DEVICE_IMAGE2D_MAX_HEIGHT:
  case CL_DEVICE_IMAGE3D_MAX_WIDTH:
  case CL_DEVICE_IMAGE3D_MAX_HEIGHT:
  case CL_DEVICE_IMAGE3D_MAX_DEPTH:
  case CL_DEVICE_IMAGE_MAX_BUFFER_SIZE:
  case CL_DEVICE_IMAGE_MAX_ARRAY_SIZE:
    return info.value(std::size_t{0});
  default:
    throw Refusal(CL_INVALID_VALUE);
  }
}

void answer_about_device(_cl_device_id& device, cl_device_info what, const Info& info) {
  constexpr cl_device_fp_config every_rounding =
      CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF | CL_FP_FMA;
  switch (what) {
  case CL_DEVICE_TYPE:
    return info.value(cl_device_type{CL_DEVICE_TYPE_GPU});
  case CL_DEVICE_VENDOR_ID:
    return info.value(cl_uint{0x5746}); // "WF": no PCI vendor's
  case CL_DEVICE_PLATFORM:
    return info.value(&platform());
  case CL_DEVICE_NAME:
    return info.text(device.properties.name);
  case CL_DEVICE_VENDOR:
    return info.text("Warpfold");
  case CL_DRIVER_VERSION:
    return info.text("0.2");
  case CL_DEVICE_PROFILE:
    return info.text("FULL_PROFILE");
  case CL_DEVICE_VERSION:
    return info.text("OpenCL 1.2 Warpfold");
  case CL_DEVICE_OPENCL_C_VERSION:
    return info.text("OpenCL C 1.2 Clang");
  case CL_DEVICE_EXTENSIONS:
    return info.text(extensions);
  case CL_DEVICE_BUILT_IN_KERNELS:
    return info.text("");
  case CL_DEVICE_SINGLE_FP_CONFIG: // some of libclc's functions return 0 for a subnormal float
    return info.value(every_rounding);
  case CL_DEVICE_DOUBLE_FP_CONFIG:
    return info.value(every_rounding | CL_FP_DENORM);
  case CL_DEVICE_HALF_FP_CONFIG:
    return info.value(cl_device_fp_config{0});
  case CL_DEVICE_GLOBAL_MEM_CACHE_TYPE:
    return info.value(cl_device_mem_cache_type{CL_READ_WRITE_CACHE});
  case CL_DEVICE_LOCAL_MEM_TYPE:
    return info.value(cl_device_local_mem_type{CL_LOCAL});
  case CL_DEVICE_EXECUTION_CAPABILITIES:
    return info.value(cl_device_exec_capabilities{CL_EXEC_KERNEL});
  case CL_DEVICE_QUEUE_PROPERTIES:
    return info.value(
        cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE});
  case CL_DEVICE_PROFILING_TIMER_RESOLUTION: // in nanoseconds
    return info.value(std::size_t{1});
  case CL_DEVICE_AVAILABLE:
  case CL_DEVICE_ENDIAN_LITTLE:
    return info.value(cl_bool{CL_TRUE});
  case CL_DEVICE_COMPILER_AVAILABLE:
  case CL_DEVICE_LINKER_AVAILABLE:
    return info.value(cl_bool{compiler_is_available()});
  case CL_DEVICE_IMAGE_SUPPORT:
  case CL_DEVICE_ERROR_CORRECTION_SUPPORT:
  case CL_DEVICE_HOST_UNIFIED_MEMORY:
    return info.value(cl_bool{CL_FALSE});
  case CL_DEVICE_PREFERRED_INTEROP_USER_SYNC:
    return info.value(cl_bool{CL_TRUE});
  case CL_DEVICE_PARENT_DEVICE:
    return info.value(cl_device_id{nullptr});
  case CL_DEVICE_PARTITION_PROPERTIES:
  case CL_DEVICE_PARTITION_TYPE: // no sub-devices
    return info.value(cl_device_partition_property{0});
  case CL_DEVICE_PARTITION_AFFINITY_DOMAIN:
    return info.value(cl_device_affinity_domain{0});
  case CL_DEVICE_REFERENCE_COUNT: // a root device's never changes
    return info.value(cl_uint{1});
  default:
    return answer_about_limits(device, what, info);
  }
}

} // namespace

_cl_platform_id& platform() {
  static _cl_platform_id& only = *new _cl_platform_id;
  return only;
}

const std::vector<std::unique_ptr<_cl_device_id>>& devices() {
  static const auto& found = *new std::vector<std::unique_ptr<_cl_device_id>>(find_devices());
  return found;
}

OnDevice::OnDevice(int device) {
  require_cuda(cudaGetDevice(&before_));
  if (before_ != device) require_cuda(cudaSetDevice(device));
}
OnDevice::~OnDevice() {
  cudaSetDevice(before_);
}

} // namespace warpfold::opencl

using namespace warpfold::opencl;

extern "C" {

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id* platforms, cl_uint* count) {
  return status("clGetPlatformIDs", [&] {
    require((platforms || count) && (!platforms || room > 0), CL_INVALID_VALUE);
    if (platforms) *platforms = &platform();
    if (count) *count = 1;
  });
}

cl_int clGetPlatformInfo(cl_platform_id handle, cl_platform_info what, size_t room, void* where,
                         size_t* size) {
  return status("clGetPlatformInfo", [&] {
    if (handle) checked(handle, CL_INVALID_PLATFORM);
    const Info info(room, where, size);
    switch (what) {
    case CL_PLATFORM_PROFILE:
      return info.text("FULL_PROFILE");
    case CL_PLATFORM_VERSION:
      return info.text("OpenCL 1.2 Warpfold");
    case CL_PLATFORM_NAME:
    case CL_PLATFORM_VENDOR:
      return info.text("Warpfold");
    case CL_PLATFORM_EXTENSIONS:
      return info.text(extensions);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
      return info.text("WARPFOLD");
    default:
      throw Refusal(CL_INVALID_VALUE);
    }
  });
}

cl_int clGetDeviceIDs(cl_platform_id handle, cl_device_type type, cl_uint room, cl_device_id* found,
                      cl_uint* count) {
  return status("clGetDeviceIDs", [&] {
    if (handle) checked(handle, CL_INVALID_PLATFORM);
    constexpr cl_device_type known = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |
                                     CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;
    require(type == CL_DEVICE_TYPE_ALL || (type != 0 && !(type & ~known)), CL_INVALID_DEVICE_TYPE);
    require((found || count) && (!found || room > 0), CL_INVALID_VALUE);
    const bool only_default = !(type & CL_DEVICE_TYPE_GPU);
    require(!only_default || (type & CL_DEVICE_TYPE_DEFAULT), CL_DEVICE_NOT_FOUND);
    const std::size_t all = only_default ? std::min<std::size_t>(1, devices().size()) : devices().size();
    require(all > 0, CL_DEVICE_NOT_FOUND);
    for (std::size_t i = 0; found && i < std::min<std::size_t>(room, all); ++i) found[i] = devices()[i].get();
    if (count) *count = static_cast<cl_uint>(all);
  });
}

cl_int clGetDeviceInfo(cl_device_id handle, cl_device_info what, size_t room, void* where, size_t* size) {
  return status("clGetDeviceInfo", [&] {
    answer_about_device(checked(handle, CL_INVALID_DEVICE), what, Info(room, where, size));
  });
}

// These devices are no sub-devices, whose references alone are counted.
cl_int clRetainDevice(cl_device_id handle) {
  return status("clRetainDevice", [&] { checked(handle, CL_INVALID_DEVICE); });
}
cl_int clReleaseDevice(cl_device_id handle) {
  return status("clReleaseDevice", [&] { checked(handle, CL_INVALID_DEVICE); });
}
cl_int clCreateSubDevices(cl_device_id handle, const cl_device_partition_property*, cl_uint, cl_device_id*,
                          cl_uint*) {
  return status("clCreateSubDevices", [&] {
    checked(handle, CL_INVALID_DEVICE);
    throw Refusal(CL_INVALID_VALUE, "the devices cannot be partitioned");
  });
}
}
