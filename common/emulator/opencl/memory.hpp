// Buffers and sub-buffers.
#pragma once

#include "context.hpp"

#include <cstddef>
#include <functional>

struct _cl_mem : warpfold::opencl::Object<warpfold::opencl::Kind::memory> {
  warpfold::opencl::Ref<_cl_context> context;
  cl_mem_flags flags = 0;
  std::size_t size = 0;
  std::byte* address = nullptr;          // on the context's first device
  warpfold::opencl::Ref<_cl_mem> parent; // of a sub-buffer
  std::size_t origin = 0;                // its first byte in the parent
  void* host_pointer = nullptr;          // the program's (CL_MEM_USE_HOST_PTR)
  std::vector<std::function<void()>> destructors;

  // What is mapped is copied to the host, always to the same place, so that overlapping maps agree.
  struct Mapping {
    std::byte* pointer = nullptr;
    std::size_t offset = 0, size = 0;
    bool for_writing = false;
  };
  std::vector<Mapping> mappings;
  std::byte* host_copy(); // of the whole buffer: the program's memory, or some that this allocates

  ~_cl_mem();

private:
  std::unique_ptr<std::byte[]> own_copy_; // NOLINT(modernize-avoid-c-arrays): too large to be initialised
};
