// What the platform and the device say of themselves.
#include "opencl.hpp"

template <typename T>
T of_device(cl_device_id device, cl_device_info what) {
  T value{};
  require(clGetDeviceInfo(device, what, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

std::string text_of_device(cl_device_id device, cl_device_info what) {
  std::vector<char> text(1000);
  require(clGetDeviceInfo(device, what, text.size(), text.data(), nullptr), "clGetDeviceInfo");
  return text.data();
}

int main() {
  const Session session;
  cl_uint count = 0;
  SHOW(clGetPlatformIDs(0, nullptr, &count));
  SHOW_VALUE(count);
  std::vector<char> name(100);
  SHOW(clGetPlatformInfo(session.platform, CL_PLATFORM_NAME, name.size(), name.data(), nullptr));
  std::printf("%s\n", name.data());
  SHOW(clGetPlatformInfo(session.platform, CL_PLATFORM_NAME, 3, name.data(), nullptr));
  SHOW(clGetPlatformInfo(session.platform, CL_DEVICE_NAME, name.size(), name.data(), nullptr));

  const cl_device_id device = session.device;
  SHOW(clGetDeviceIDs(session.platform, CL_DEVICE_TYPE_CPU, 0, nullptr, &count));
  SHOW(clGetDeviceIDs(session.platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count));
  SHOW(clGetDeviceIDs(session.platform, 1 << 20, 0, nullptr, &count));
  std::printf("%s\n%s\n", text_of_device(device, CL_DEVICE_VERSION).c_str(),
              text_of_device(device, CL_DEVICE_OPENCL_C_VERSION).substr(0, 12).c_str());
  SHOW_VALUE(of_device<cl_device_type>(device, CL_DEVICE_TYPE) == CL_DEVICE_TYPE_GPU);
  SHOW_VALUE(of_device<cl_platform_id>(device, CL_DEVICE_PLATFORM) == session.platform);
  SHOW_VALUE(of_device<std::size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  SHOW_VALUE(of_device<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE));
  SHOW_VALUE(of_device<cl_uint>(device, CL_DEVICE_ADDRESS_BITS));
  SHOW_VALUE(of_device<cl_bool>(device, CL_DEVICE_IMAGE_SUPPORT));
  SHOW_VALUE(of_device<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE));

  // Every query of OpenCL 1.2 has an answer; their numbers are two ranges without gaps.
  int unanswered = 0;
  for (cl_device_info what = CL_DEVICE_TYPE; what <= CL_DEVICE_PRINTF_BUFFER_SIZE; ++what) {
    const bool is_of_later_versions = (what > CL_DEVICE_PLATFORM && what < CL_DEVICE_DOUBLE_FP_CONFIG);
    std::size_t size = 0;
    if (!is_of_later_versions && clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS) {
      std::printf("0x%x has no answer\n", what);
      ++unanswered;
    }
  }
  SHOW_VALUE(unanswered);

  cl_uint devices = 0;
  SHOW(clGetContextInfo(session.context, CL_CONTEXT_NUM_DEVICES, sizeof devices, &devices, nullptr));
  SHOW_VALUE(devices);
  const cl_context_properties unknown[] = {12345, 1, 0};
  cl_int error = CL_SUCCESS;
  clCreateContext(unknown, 1, &device, nullptr, nullptr, &error);
  SHOW(error);
  const cl_context_properties known[] = {CL_CONTEXT_PLATFORM,
                                         reinterpret_cast<cl_context_properties>(session.platform), 0};
  const cl_context by_type = clCreateContextFromType(known, CL_DEVICE_TYPE_DEFAULT, nullptr, nullptr, &error);
  SHOW(error);
  SHOW(clRetainContext(by_type));
  cl_uint references = 0;
  SHOW(clGetContextInfo(by_type, CL_CONTEXT_REFERENCE_COUNT, sizeof references, &references, nullptr));
  SHOW_VALUE(references);
  SHOW(clReleaseContext(by_type));
  SHOW(clReleaseContext(by_type));

  // No images.
  cl_uint formats = 99;
  SHOW(clGetSupportedImageFormats(session.context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, nullptr,
                                  &formats));
  const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = description.image_height = 4;
  SHOW_VALUE(clCreateImage(session.context, 0, &format, &description, nullptr, &error) == nullptr);
  SHOW(error);
  clCreateSampler(session.context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error);
  SHOW(error);
}
