#include "kernel.hpp"

#include "info.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::opencl {
namespace {

_cl_kernel& checked_kernel(cl_kernel handle) {
  return checked(handle, CL_INVALID_KERNEL);
}

cudaKernel_t code_in(cudaLibrary_t library, const std::string& name) {
  cudaKernel_t code = nullptr;
  require_cuda(cudaLibraryGetKernel(&code, library, name.c_str()), CL_INVALID_KERNEL_NAME);
  return code;
}

cl_kernel new_kernel(_cl_program& program, const KernelSource& source) {
  auto made = std::make_unique<_cl_kernel>();
  made->program = Ref(program);
  ++program.kernel_objects;
  made->source = source;
  made->values.resize(source.arguments.size());
  const OnDevice current(program.context->devices.front()->number);
  if (program.plain) made->plain = code_in(program.plain, source.name);
  return made.release();
}

void require_executable(const _cl_program& program) {
  require(program.plain || program.with_values, CL_INVALID_PROGRAM_EXECUTABLE,
          "the program has not been built");
}

std::size_t size_of_parameter(_cl_kernel& kernel, cl_uint index) {
  const OnDevice current(kernel.program->context->devices.front()->number);
  std::size_t offset = 0, size = 0;
  require_cuda(cudaFuncGetParamInfo(any_code(kernel), index, &offset, &size));
  return size;
}

std::string naming(const _cl_kernel& kernel, const Argument& argument) {
  return fmt::format("{}: the argument {}", kernel.source.name, argument.name);
}

Value of_local_memory(const std::string& name, std::size_t size, const void* value) {
  require(value == nullptr, CL_INVALID_ARG_VALUE, name + " is local memory: pass its size and NULL");
  require(size > 0, CL_INVALID_ARG_SIZE, name + " is local memory of 0 bytes");
  return {.local_bytes = size};
}

Value of_buffer(const _cl_kernel& kernel, const std::string& name, std::size_t size, const void* value) {
  require(size == sizeof(cl_mem), CL_INVALID_ARG_SIZE, name + " is a buffer: its size is sizeof(cl_mem)");
  const cl_mem handle = value ? *static_cast<const cl_mem*>(value) : nullptr;
  if (!handle) return {.bytes = std::vector<std::byte>(sizeof(void*))}; // a null pointer
  _cl_mem& memory = checked(handle, CL_INVALID_MEM_OBJECT);
  require(memory.context.get() == kernel.program->context.get(), CL_INVALID_MEM_OBJECT,
          name + " is a buffer of another context");
  return {.memory = Ref(memory)};
}

Value of_bytes(_cl_kernel& kernel, cl_uint index, const std::string& name, std::size_t size,
               const void* value) {
  const std::size_t wanted = size_of_parameter(kernel, index);
  require(size == wanted, CL_INVALID_ARG_SIZE,
          fmt::format("{} has {} bytes, and {} were given", name, wanted, size));
  require(value != nullptr, CL_INVALID_ARG_VALUE, name + " has no value");
  const auto* const first = static_cast<const std::byte*>(value);
  return {.bytes = std::vector<std::byte>(first, first + size)};
}

bool is_image_or_sampler(const std::string& type) {
  return type.starts_with("image") || type == "sampler_t";
}

void set_argument(_cl_kernel& kernel, cl_uint index, std::size_t size, const void* value) {
  require(index < kernel.values.size(), CL_INVALID_ARG_INDEX);
  const Argument& argument = kernel.source.arguments[index];
  const std::string name = naming(kernel, argument);
  require(!is_image_or_sampler(argument.type), CL_INVALID_ARG_VALUE,
          name + " is an image or a sampler, which the device does not support");
  constexpr unsigned of_values = 0, of_local = 3;
  if (argument.address_space == of_values)
    kernel.values[index] = of_bytes(kernel, index, name, size, value);
  else if (argument.address_space == of_local)
    kernel.values[index] = of_local_memory(name, size, value);
  else
    kernel.values[index] = of_buffer(kernel, name, size, value);
}

cudaFuncAttributes attributes_of(_cl_kernel& kernel) {
  const OnDevice current(kernel.program->context->devices.front()->number);
  cudaFuncAttributes attributes{};
  require_cuda(cudaFuncGetAttributes(&attributes, any_code(kernel)));
  return attributes;
}

cl_kernel_arg_address_qualifier address_qualifier(unsigned address_space) {
  constexpr std::array<cl_kernel_arg_address_qualifier, 4> of_space{
      CL_KERNEL_ARG_ADDRESS_PRIVATE, CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ADDRESS_CONSTANT,
      CL_KERNEL_ARG_ADDRESS_LOCAL};
  return of_space.at(address_space);
}

cl_kernel_arg_type_qualifier type_qualifiers(const std::string& words) {
  cl_kernel_arg_type_qualifier result = CL_KERNEL_ARG_TYPE_NONE;
  if (words.find("const") != words.npos) result |= CL_KERNEL_ARG_TYPE_CONST;
  if (words.find("restrict") != words.npos) result |= CL_KERNEL_ARG_TYPE_RESTRICT;
  if (words.find("volatile") != words.npos) result |= CL_KERNEL_ARG_TYPE_VOLATILE;
  return result;
}

cl_kernel_arg_access_qualifier access_qualifier(const std::string& word) {
  if (word == "read_only") return CL_KERNEL_ARG_ACCESS_READ_ONLY;
  if (word == "write_only") return CL_KERNEL_ARG_ACCESS_WRITE_ONLY;
  return CL_KERNEL_ARG_ACCESS_NONE;
}

std::string attributes_in_words(const KernelSource& source) {
  const auto& group = source.required_group;
  return group[0] ? fmt::format("reqd_work_group_size({},{},{})", group[0], group[1], group[2]) : "";
}

} // namespace

cudaKernel_t any_code(_cl_kernel& kernel) {
  return kernel.plain ? kernel.plain : code_in(kernel.program->library_with_values(), kernel.source.name);
}

} // namespace warpfold::opencl

using namespace warpfold::opencl;

_cl_kernel::~_cl_kernel() {
  if (program) --program->kernel_objects;
}

extern "C" {

cl_kernel clCreateKernel(cl_program handle, const char* name, cl_int* code) {
  return created("clCreateKernel", code, [&] {
    _cl_program& program = checked(handle, CL_INVALID_PROGRAM);
    require(name != nullptr, CL_INVALID_VALUE);
    require_executable(program);
    const auto found = std::find_if(program.kernels.begin(), program.kernels.end(),
                                    [&](const KernelSource& kernel) { return kernel.name == name; });
    require(found != program.kernels.end(), CL_INVALID_KERNEL_NAME,
            fmt::format("the program has no kernel {}", name));
    return new_kernel(program, *found);
  });
}

cl_int clCreateKernelsInProgram(cl_program handle, cl_uint room, cl_kernel* kernels, cl_uint* count) {
  return status("clCreateKernelsInProgram", [&] {
    _cl_program& program = checked(handle, CL_INVALID_PROGRAM);
    require_executable(program);
    require(!kernels || room >= program.kernels.size(), CL_INVALID_VALUE);
    for (std::size_t i = 0; kernels && i < program.kernels.size(); ++i)
      kernels[i] = new_kernel(program, program.kernels[i]);
    if (count) *count = static_cast<cl_uint>(program.kernels.size());
  });
}

cl_int clRetainKernel(cl_kernel handle) {
  return retain_handle("clRetainKernel", handle, CL_INVALID_KERNEL);
}
cl_int clReleaseKernel(cl_kernel handle) {
  return release_handle("clReleaseKernel", handle, CL_INVALID_KERNEL);
}

cl_int clSetKernelArg(cl_kernel handle, cl_uint index, size_t size, const void* value) {
  return status("clSetKernelArg", [&] { set_argument(checked_kernel(handle), index, size, value); });
}

cl_int clGetKernelInfo(cl_kernel handle, cl_kernel_info what, size_t room, void* where, size_t* size) {
  return status("clGetKernelInfo", [&] {
    const _cl_kernel& kernel = checked_kernel(handle);
    const Info info(room, where, size);
    switch (what) {
    case CL_KERNEL_FUNCTION_NAME:
      return info.text(kernel.source.name);
    case CL_KERNEL_NUM_ARGS:
      return info.value(static_cast<cl_uint>(kernel.values.size()));
    case CL_KERNEL_REFERENCE_COUNT:
      return info.value(kernel.references.load());
    case CL_KERNEL_CONTEXT:
      return info.value(kernel.program->context.get());
    case CL_KERNEL_PROGRAM:
      return info.value(kernel.program.get());
    case CL_KERNEL_ATTRIBUTES:
      return info.text(attributes_in_words(kernel.source));
    default:
      throw Refusal(CL_INVALID_VALUE);
    }
  });
}

cl_int clGetKernelArgInfo(cl_kernel handle, cl_uint index, cl_kernel_arg_info what, size_t room, void* where,
                          size_t* size) {
  return status("clGetKernelArgInfo", [&] {
    const _cl_kernel& kernel = checked_kernel(handle);
    require(index < kernel.values.size(), CL_INVALID_ARG_INDEX);
    const Argument& argument = kernel.source.arguments[index];
    const Info info(room, where, size);
    switch (what) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
      return info.value(address_qualifier(argument.address_space));
    case CL_KERNEL_ARG_ACCESS_QUALIFIER:
      return info.value(access_qualifier(argument.access));
    case CL_KERNEL_ARG_TYPE_NAME:
      return info.text(argument.type);
    case CL_KERNEL_ARG_TYPE_QUALIFIER:
      return info.value(type_qualifiers(argument.qualifiers));
    case CL_KERNEL_ARG_NAME:
      return info.text(argument.name);
    default:
      throw Refusal(CL_INVALID_VALUE);
    }
  });
}

cl_int clGetKernelWorkGroupInfo(cl_kernel handle, cl_device_id device, cl_kernel_work_group_info what,
                                size_t room, void* where, size_t* size) {
  return status("clGetKernelWorkGroupInfo", [&] {
    _cl_kernel& kernel = checked_kernel(handle);
    require(device || kernel.program->devices.size() == 1, CL_INVALID_DEVICE);
    require(!device || kernel.program->context->has(checked(device, CL_INVALID_DEVICE)), CL_INVALID_DEVICE);
    const Info info(room, where, size);
    const cudaFuncAttributes attributes = attributes_of(kernel);
    switch (what) {
    case CL_KERNEL_WORK_GROUP_SIZE:
      return info.value(static_cast<std::size_t>(attributes.maxThreadsPerBlock));
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
      return info.value(kernel.source.required_group);
    case CL_KERNEL_LOCAL_MEM_SIZE: {
      cl_ulong bytes = attributes.sharedSizeBytes;
      for (const auto& value : kernel.values) bytes += value ? value->local_bytes : 0;
      return info.value(bytes);
    }
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
      return info.value(std::size_t{32});
    case CL_KERNEL_PRIVATE_MEM_SIZE:
      return info.value(cl_ulong{attributes.localSizeBytes});
    default:
      throw Refusal(CL_INVALID_VALUE);
    }
  });
}
}
