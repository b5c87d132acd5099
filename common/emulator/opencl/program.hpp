#pragma once

#include "compiler.hpp"
#include "context.hpp"
#include "kernel_source.hpp"

#include <array>
#include <atomic>
#include <map>
#include <mutex>

struct _cl_program : warpfold::opencl::Object<warpfold::opencl::Kind::program> {
  warpfold::opencl::Ref<_cl_context> context;
  std::vector<_cl_device_id*> devices;
  std::string source; // empty if it was created from a binary or by linking
  std::vector<std::string>
      llvm; // its parts, in LLVM's language; more than one only where it was linked of several
  std::string options, log;
  std::vector<std::string> words; // the options for the compiler
  cl_build_status status = CL_BUILD_NONE;
  cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
  std::vector<warpfold::opencl::KernelSource> kernels;
  std::atomic<unsigned> kernel_objects = 0; // which keep it from being built anew

  // The code that reads launch values is made when a launch first needs them, unless all of its launches do.
  cudaLibrary_t plain = nullptr, with_values = nullptr;
  cudaLibrary_t library_with_values(); // throws Refusal
  std::mutex making_code;
  using LaunchValues = std::array<cl_ulong, 4>;
  std::map<int, LaunchValues> values_on_device;

  void forget_code();
  ~_cl_program();
};

namespace warpfold::opencl {

// For each device the same.
void build(_cl_program& program);

} // namespace warpfold::opencl
