// What every program here uses: a device with a context and a queue, a program built from a file beside it,
// and a macro that prints a call as it is in the source and what it returned.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#define SHOW(call) std::printf("%s -> %s\n", #call, error_name(call).c_str())
#define SHOW_VALUE(expression) std::printf("%s = %lld\n", #expression, static_cast<long long>(expression))

inline std::string error_name(cl_int error) {
#define NAMED(name)                                                                                          \
  if (error == (name)) return #name
  NAMED(CL_SUCCESS);
  NAMED(CL_DEVICE_NOT_FOUND);
  NAMED(CL_OUT_OF_RESOURCES);
  NAMED(CL_PROFILING_INFO_NOT_AVAILABLE);
  NAMED(CL_MEM_COPY_OVERLAP);
  NAMED(CL_BUILD_PROGRAM_FAILURE);
  NAMED(CL_MISALIGNED_SUB_BUFFER_OFFSET);
  NAMED(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  NAMED(CL_COMPILE_PROGRAM_FAILURE);
  NAMED(CL_LINK_PROGRAM_FAILURE);
  NAMED(CL_INVALID_VALUE);
  NAMED(CL_INVALID_DEVICE_TYPE);
  NAMED(CL_INVALID_PLATFORM);
  NAMED(CL_INVALID_DEVICE);
  NAMED(CL_INVALID_CONTEXT);
  NAMED(CL_INVALID_QUEUE_PROPERTIES);
  NAMED(CL_INVALID_COMMAND_QUEUE);
  NAMED(CL_INVALID_HOST_PTR);
  NAMED(CL_INVALID_MEM_OBJECT);
  NAMED(CL_INVALID_SAMPLER);
  NAMED(CL_INVALID_BINARY);
  NAMED(CL_INVALID_BUILD_OPTIONS);
  NAMED(CL_INVALID_PROGRAM);
  NAMED(CL_INVALID_PROGRAM_EXECUTABLE);
  NAMED(CL_INVALID_KERNEL_NAME);
  NAMED(CL_INVALID_KERNEL);
  NAMED(CL_INVALID_ARG_INDEX);
  NAMED(CL_INVALID_ARG_VALUE);
  NAMED(CL_INVALID_ARG_SIZE);
  NAMED(CL_INVALID_KERNEL_ARGS);
  NAMED(CL_INVALID_WORK_DIMENSION);
  NAMED(CL_INVALID_WORK_GROUP_SIZE);
  NAMED(CL_INVALID_WORK_ITEM_SIZE);
  NAMED(CL_INVALID_GLOBAL_OFFSET);
  NAMED(CL_INVALID_EVENT_WAIT_LIST);
  NAMED(CL_INVALID_EVENT);
  NAMED(CL_INVALID_OPERATION);
  NAMED(CL_INVALID_BUFFER_SIZE);
  NAMED(CL_INVALID_GLOBAL_WORK_SIZE);
  NAMED(CL_INVALID_PROPERTY);
#undef NAMED
  return std::to_string(error);
}

// Ends the program if an error is none of its subject.
inline void require(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  std::printf("%s: %s\n", what, error_name(error).c_str());
  std::exit(1);
}

struct Session {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;

  explicit Session(cl_command_queue_properties properties = 0) {
    cl_int error = CL_SUCCESS;
    require(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, nullptr), "clGetDeviceIDs");
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    require(error, "clCreateContext");
    queue = clCreateCommandQueue(context, device, properties, &error);
    require(error, "clCreateCommandQueue");
  }
  ~Session() {
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  cl_program program_from(const std::string& source) const {
    const char* const text = source.c_str();
    return clCreateProgramWithSource(context, 1, const_cast<const char**>(&text), nullptr, nullptr);
  }
  std::string log_of(cl_program program) const {
    std::size_t size = 0;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    return log.c_str();
  }
  cl_program built(const std::string& source, const char* options = "") const {
    const cl_program program = program_from(source);
    if (clBuildProgram(program, 1, &device, options, nullptr, nullptr) == CL_SUCCESS) return program;
    std::printf("%s\n", log_of(program).c_str());
    std::exit(1);
  }
  // From a file in the folder of the source that includes this.
  cl_program built_from(const std::string& path) const {
    std::ifstream file(path);
    return built(std::string(std::istreambuf_iterator<char>(file), {}));
  }

  template <typename T>
  cl_mem buffer(const std::vector<T>& values, cl_mem_flags flags = CL_MEM_READ_WRITE) const {
    return clCreateBuffer(context, flags | CL_MEM_COPY_HOST_PTR, values.size() * sizeof(T),
                          const_cast<T*>(values.data()), nullptr);
  }
  template <typename T>
  std::vector<T> contents(cl_mem buffer, std::size_t count) const {
    std::vector<T> values(count);
    require(
        clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof(T), values.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
    return values;
  }
};

template <typename T>
cl_int set(cl_kernel kernel, cl_uint index, const T& value) {
  return clSetKernelArg(kernel, index, sizeof value, &value);
}

inline void print(const char* what, const std::vector<int>& values) {
  std::printf("%s:", what);
  for (const int value : values) std::printf(" %d", value);
  std::printf("\n");
}
