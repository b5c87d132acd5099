#include "run/opencl/context.hpp"

#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/memory.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lab::opencl {
namespace {

void require(cl_int status, const std::string& what) {
  if (status == CL_OUT_OF_RESOURCES) throw DeviceError("the kernel stopped (CL_OUT_OF_RESOURCES)");
  if (status != CL_SUCCESS) throw DeviceError(fmt::format("{}: OpenCL error {}", what, status));
}

cl_int set_argument(cl_kernel kernel, cl_uint index, const Argument& argument) {
  if (const auto* memory = std::get_if<cl_mem>(&argument))
    return clSetKernelArg(kernel, index, sizeof *memory, memory);
  if (const auto* number = std::get_if<cl_ulong>(&argument))
    return clSetKernelArg(kernel, index, sizeof *number, number);
  return clSetKernelArg(kernel, index, std::get<Local>(argument).floats * sizeof(float), nullptr);
}

} // namespace

Context::Context(cl_device_id device) : device_(device) {
  cl_int status = CL_SUCCESS;
  context_.reset(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status));
  require(status, "opening the device");
  queue_.reset(clCreateCommandQueue(context_.get(), device, 0, &status));
  require(status, "creating a queue");
}

void Context::build(const std::string& kernels, const std::string& path) {
  cl_int status = CL_SUCCESS;
  const std::string named = fmt::format("#line 1 \"{}\"\n{}", path, kernels);
  const char* text = named.c_str();
  program_.reset(clCreateProgramWithSource(context_.get(), 1, &text, nullptr, &status));
  require(status, "reading the kernels");
  if (clBuildProgram(program_.get(), 1, &device_, "-cl-std=CL1.2", nullptr, nullptr) == CL_SUCCESS) return;
  std::size_t size = 0;
  clGetProgramBuildInfo(program_.get(), device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  clGetProgramBuildInfo(program_.get(), device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  throw BuildError(log.c_str()); // up to the first 0
}

void Context::launch(const char* name, std::size_t groups, std::size_t group,
                     std::initializer_list<Argument> arguments) const {
  cl_int status = CL_SUCCESS;
  const Owner<cl_kernel, clReleaseKernel> kernel(clCreateKernel(program_.get(), name, &status));
  require(status, fmt::format("the .cl file has no kernel {}", name));
  cl_uint index = 0;
  for (const Argument& argument : arguments)
    require(set_argument(kernel.get(), index, argument), fmt::format("argument {} of {}", index, name)),
        ++index;
  const std::size_t items = groups * group;
  require(clEnqueueNDRangeKernel(queue_.get(), kernel.get(), 1, nullptr, &items, &group, 0, nullptr, nullptr),
          fmt::format("launching {} with {} work-groups of {}", name, groups, group));
}

void Context::finish() const {
  require(clFinish(queue_.get()), "the kernel stopped");
}

cl_mem Context::allocate(std::size_t bytes, const std::string& name) const {
  cl_int status = CL_SUCCESS;
  // OpenCL has no empty buffers.
  const cl_mem memory =
      clCreateBuffer(context_.get(), CL_MEM_READ_WRITE, std::max<std::size_t>(bytes, 1), nullptr, &status);
  require(status, fmt::format("allocating {} bytes", bytes));
  name_memory(reinterpret_cast<const void*>(address_of(memory)), bytes == 0 ? "the empty " + name : name);
  return memory;
}

void Context::write(cl_mem memory, std::size_t offset, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  require(clEnqueueWriteBuffer(queue_.get(), memory, CL_TRUE, offset, bytes, from, 0, nullptr, nullptr),
          "copying to the device");
}

void Context::read(cl_mem memory, void* to, std::size_t bytes) const {
  if (bytes == 0) return;
  require(clEnqueueReadBuffer(queue_.get(), memory, CL_TRUE, 0, bytes, to, 0, nullptr, nullptr),
          "copying from the device");
}

std::uint64_t address_of(cl_mem memory) {
  constexpr cl_mem_info device_address = 0x5202; // CL_MEM_DEVICE_ADDRESS_EXT of cl_ext_buffer_device_address
  cl_ulong address = 0;
  if (on_emulator()) clGetMemObjectInfo(memory, device_address, sizeof address, &address, nullptr);
  return address;
}

Run::~Run() {
  for (const cl_mem memory : scratch_) clReleaseMemObject(memory);
}

cl_mem Run::scratch(std::size_t floats) {
  constexpr std::size_t most = 4;
  if (scratch_.size() == most)
    throw DeviceError(fmt::format("a run may ask for scratch memory at most {} times", most));
  scratch_.push_back(
      context_.allocate(floats * sizeof(float), fmt::format("scratch {}", scratch_.size() + 1)));
  return scratch_.back();
}

void Run::launch(const char* kernel, std::size_t groups, std::initializer_list<Argument> arguments) {
  context_.launch(kernel, groups, group, arguments);
}

} // namespace lab::opencl
