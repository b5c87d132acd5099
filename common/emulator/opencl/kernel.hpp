#pragma once

#include "memory.hpp"
#include "program.hpp"

#include <optional>

namespace warpfold::opencl {

// What clSetKernelArg has set: bytes that are passed on, a buffer whose address is, or a size of local
// memory.
struct Value {
  std::vector<std::byte> bytes = {};
  Ref<_cl_mem> memory = {};
  std::size_t local_bytes = 0;
};

} // namespace warpfold::opencl

struct _cl_kernel : warpfold::opencl::Object<warpfold::opencl::Kind::kernel> {
  warpfold::opencl::Ref<_cl_program> program;
  warpfold::opencl::KernelSource source;
  cudaKernel_t plain = nullptr;                               // null if every launch needs launch values
  std::vector<std::optional<warpfold::opencl::Value>> values; // of the arguments

  ~_cl_kernel();
};

namespace warpfold::opencl {

// The kernel's code, of which its attributes are asked.
cudaKernel_t any_code(_cl_kernel& kernel);

} // namespace warpfold::opencl
