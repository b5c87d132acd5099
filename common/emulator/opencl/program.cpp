#include "program.hpp"

#include "info.hpp"
#include "kept_translations.hpp"
#include "options.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace warpfold::opencl {
namespace {

void compile_source(_cl_program& program, const std::vector<Header>& headers) {
  Translation made = kept_or([&] { return translate(program.source, program.words, headers); });
  program.log += made.log;
  if (!made.succeeded) throw Refusal(CL_COMPILE_PROGRAM_FAILURE);
  program.llvm = {std::move(made.text)};
  program.type = CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
}

void check_devices(const _cl_program& program, cl_uint count, const cl_device_id* devices) {
  require((count > 0) == (devices != nullptr), CL_INVALID_VALUE);
  for (cl_uint i = 0; i < count; ++i) {
    const _cl_device_id& device = checked(devices[i], CL_INVALID_DEVICE);
    require(std::find(program.devices.begin(), program.devices.end(), &device) != program.devices.end(),
            CL_INVALID_DEVICE, "the device is not one of the program's");
  }
}

// Prepares a program for being built or compiled anew, does it, and tells the program's callback. `failure`:
// the code for a mistake in the source.
template <typename Body>
cl_int build_anew(_cl_program& program, const char* function, cl_int failure, Body body) {
  program.forget_code();
  program.log.clear();
  program.status = CL_BUILD_IN_PROGRESS;
  program.type = CL_PROGRAM_BINARY_TYPE_NONE;
  const cl_int result = status(function, body);
  program.status = result == CL_SUCCESS ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
  const bool is_of_source = result == CL_BUILD_PROGRAM_FAILURE || result == CL_COMPILE_PROGRAM_FAILURE;
  return is_of_source ? failure : result;
}

// What is wrong with them is for the log as well: who builds a program looks there.
void take_options(_cl_program& program, const char* options, int error) {
  try {
    program.words = parse_options(options, error);
    program.options = options ? options : "";
  } catch (const Refusal& refusal) {
    program.log = fmt::format("error: {}\n", refusal.what());
    throw;
  }
}

_cl_program& checked_program(cl_program handle) {
  return checked(handle, CL_INVALID_PROGRAM);
}

cl_program new_program(_cl_context& context) {
  auto made = std::make_unique<_cl_program>();
  made->context = Ref(context);
  made->devices = context.devices;
  return made.release();
}

// A binary is the program in LLVM's language: its parts, with a comment between two.
constexpr std::string_view next_part = "\n; The next part of a program of Warpfold's OpenCL driver\n";

std::string binary_of(const _cl_program& program) {
  std::string binary;
  for (const std::string& part : program.llvm) {
    if (!binary.empty()) binary += next_part;
    binary += part;
  }
  return binary;
}

std::vector<std::string> parts_of(std::string_view binary) {
  std::vector<std::string> parts;
  for (std::size_t end = 0; end != binary.npos;) {
    end = binary.find(next_part);
    parts.emplace_back(binary.substr(0, end));
    if (end != binary.npos) binary.remove_prefix(end + next_part.size());
  }
  return parts;
}

void answer_about_program(const _cl_program& program, cl_program_info what, const Info& info, void* where) {
  const std::size_t count = program.devices.size();
  switch (what) {
  case CL_PROGRAM_REFERENCE_COUNT:
    return info.value(program.references.load());
  case CL_PROGRAM_CONTEXT:
    return info.value(program.context.get());
  case CL_PROGRAM_NUM_DEVICES:
    return info.value(static_cast<cl_uint>(count));
  case CL_PROGRAM_DEVICES:
    return info.list(program.devices);
  case CL_PROGRAM_SOURCE:
    return info.text(program.source);
  case CL_PROGRAM_BINARY_SIZES:
    return info.list(std::vector<std::size_t>(count, binary_of(program).size()));
  case CL_PROGRAM_BINARIES: { // `where` holds pointers to memory for them
    std::vector<unsigned char*> pointers(count);
    if (where) {
      std::memcpy(pointers.data(), where, count * sizeof pointers[0]);
      const std::string binary = binary_of(program);
      for (unsigned char* const pointer : pointers)
        if (pointer) std::copy(binary.begin(), binary.end(), pointer);
    }
    return info.list(pointers);
  }
  case CL_PROGRAM_NUM_KERNELS:
  case CL_PROGRAM_KERNEL_NAMES: {
    require(program.status == CL_BUILD_SUCCESS && program.type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
            CL_INVALID_PROGRAM_EXECUTABLE);
    std::string names;
    for (const KernelSource& kernel : program.kernels) names += (names.empty() ? "" : ";") + kernel.name;
    if (what == CL_PROGRAM_NUM_KERNELS) return info.value(program.kernels.size());
    return info.text(names);
  }
  default:
    throw Refusal(CL_INVALID_VALUE);
  }
}

} // namespace
} // namespace warpfold::opencl

using namespace warpfold::opencl;

extern "C" {

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                     const size_t* lengths, cl_int* code) {
  return created("clCreateProgramWithSource", code, [&] {
    _cl_context& owner = checked(context, CL_INVALID_CONTEXT);
    require(count > 0 && strings, CL_INVALID_VALUE);
    std::string source;
    for (cl_uint i = 0; i < count; ++i) {
      require(strings[i] != nullptr, CL_INVALID_VALUE);
      const bool has_length = lengths && lengths[i] > 0;
      source += has_length ? std::string(strings[i], lengths[i]) : std::string(strings[i]);
    }
    const cl_program made = new_program(owner);
    made->source = std::move(source);
    return made;
  });
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id* devices,
                                     const size_t* lengths, const unsigned char** binaries, cl_int* of_each,
                                     cl_int* code) {
  return created("clCreateProgramWithBinary", code, [&] {
    _cl_context& owner = checked(context, CL_INVALID_CONTEXT);
    require(count > 0 && devices && lengths && binaries, CL_INVALID_VALUE);
    bool all_valid = true;
    for (cl_uint i = 0; i < count; ++i) {
      require(owner.has(checked(devices[i], CL_INVALID_DEVICE)), CL_INVALID_DEVICE);
      require(lengths[i] > 0 && binaries[i], CL_INVALID_VALUE);
      const std::string text(reinterpret_cast<const char*>(binaries[i]), lengths[i]);
      const bool valid = text.find("target triple = \"nvptx64-") != text.npos;
      if (of_each) of_each[i] = valid ? CL_SUCCESS : CL_INVALID_BINARY;
      all_valid &= valid;
    }
    require(all_valid, CL_INVALID_BINARY, "a binary is not one of this driver's");
    const cl_program made = new_program(owner);
    made->devices.assign(devices, devices + count);
    made->llvm = parts_of({reinterpret_cast<const char*>(binaries[0]), lengths[0]});
    made->type = CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
    return made;
  });
}

cl_program clCreateProgramWithBuiltInKernels(cl_context context, cl_uint, const cl_device_id*, const char*,
                                             cl_int* code) {
  return created("clCreateProgramWithBuiltInKernels", code, [&]() -> cl_program {
    checked(context, CL_INVALID_CONTEXT);
    throw Refusal(CL_INVALID_VALUE, "the device has no built-in kernels");
  });
}

cl_int clRetainProgram(cl_program handle) {
  return retain_handle("clRetainProgram", handle, CL_INVALID_PROGRAM);
}
cl_int clReleaseProgram(cl_program handle) {
  return release_handle("clReleaseProgram", handle, CL_INVALID_PROGRAM);
}

cl_int clBuildProgram(cl_program handle, cl_uint count, const cl_device_id* devices, const char* options,
                      void (*notify)(cl_program, void*), void* data) {
  return status("clBuildProgram", [&] {
    _cl_program& program = checked_program(handle);
    check_devices(program, count, devices);
    require(notify || !data, CL_INVALID_VALUE);
    require(program.kernel_objects == 0, CL_INVALID_OPERATION, "the program still has kernel objects");
    take_options(program, options, CL_INVALID_BUILD_OPTIONS);
    const cl_int result = build_anew(program, "clBuildProgram", CL_BUILD_PROGRAM_FAILURE, [&] {
      if (!program.source.empty() || program.llvm.empty()) compile_source(program, {});
      build(program);
    });
    if (notify) notify(handle, data);
    require(result == CL_SUCCESS, result);
  });
}

cl_int clCompileProgram(cl_program handle, cl_uint count, const cl_device_id* devices, const char* options,
                        cl_uint header_count, const cl_program* headers, const char** names,
                        void (*notify)(cl_program, void*), void* data) {
  return status("clCompileProgram", [&] {
    _cl_program& program = checked_program(handle);
    check_devices(program, count, devices);
    require((header_count > 0) == (headers != nullptr) && (header_count > 0) == (names != nullptr),
            CL_INVALID_VALUE);
    require(notify || !data, CL_INVALID_VALUE);
    require(program.kernel_objects == 0, CL_INVALID_OPERATION, "the program still has kernel objects");
    require(!program.source.empty(), CL_INVALID_OPERATION, "the program has no source");
    std::vector<Header> texts;
    for (cl_uint i = 0; i < header_count; ++i)
      texts.push_back({names[i], checked_program(headers[i]).source});
    take_options(program, options, CL_INVALID_COMPILER_OPTIONS);
    const cl_int result = build_anew(program, "clCompileProgram", CL_COMPILE_PROGRAM_FAILURE,
                                     [&] { compile_source(program, texts); });
    if (notify) notify(handle, data);
    require(result == CL_SUCCESS, result);
  });
}

cl_program clLinkProgram(cl_context context, cl_uint count, const cl_device_id* devices, const char* options,
                         cl_uint part_count, const cl_program* parts, void (*notify)(cl_program, void*),
                         void* data, cl_int* code) {
  cl_int result = CL_SUCCESS;
  const cl_program made = created("clLinkProgram", code, [&] {
    _cl_context& owner = checked(context, CL_INVALID_CONTEXT);
    require((count > 0) == (devices != nullptr) && part_count > 0 && parts && (notify || !data),
            CL_INVALID_VALUE);
    const auto words = parse_options(options, CL_INVALID_LINKER_OPTIONS);
    std::vector<std::string> texts;
    for (cl_uint i = 0; i < part_count; ++i) {
      const _cl_program& part = checked_program(parts[i]);
      require(!part.llvm.empty(), CL_INVALID_OPERATION, "a part has not been compiled");
      texts.insert(texts.end(), part.llvm.begin(), part.llvm.end());
    }
    const cl_program program = new_program(owner);
    program->words = words;
    program->options = options ? options : "";
    const bool is_library = program->options.find("-create-library") != std::string::npos;
    result = build_anew(*program, "clLinkProgram", CL_LINK_PROGRAM_FAILURE, [&] {
      program->llvm = std::move(texts);
      if (is_library)
        program->type =
            CL_PROGRAM_BINARY_TYPE_LIBRARY; // what it lacks may come with the parts it is linked to
      else
        build(*program);
    });
    return program;
  });
  if (made && code) *code = result; // the program is returned all the same, for its log
  if (made && notify) notify(made, data);
  return made;
}

cl_int clUnloadPlatformCompiler(cl_platform_id handle) {
  return status("clUnloadPlatformCompiler", [&] { checked(handle, CL_INVALID_PLATFORM); });
}
cl_int clUnloadCompiler() {
  return CL_SUCCESS; // a hint, and the compiler is a program of its own
}

cl_int clGetProgramInfo(cl_program handle, cl_program_info what, size_t room, void* where, size_t* size) {
  return status("clGetProgramInfo",
                [&] { answer_about_program(checked_program(handle), what, Info(room, where, size), where); });
}

cl_int clGetProgramBuildInfo(cl_program handle, cl_device_id device, cl_program_build_info what, size_t room,
                             void* where, size_t* size) {
  return status("clGetProgramBuildInfo", [&] {
    const _cl_program& program = checked_program(handle);
    check_devices(program, 1, &device);
    const Info info(room, where, size);
    switch (what) {
    case CL_PROGRAM_BUILD_STATUS:
      return info.value(program.status);
    case CL_PROGRAM_BUILD_OPTIONS:
      return info.text(program.options);
    case CL_PROGRAM_BUILD_LOG:
      return info.text(program.log);
    case CL_PROGRAM_BINARY_TYPE:
      return info.value(program.type);
    default:
      throw Refusal(CL_INVALID_VALUE);
    }
  });
}
}
