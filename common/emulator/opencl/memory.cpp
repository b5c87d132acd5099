#include "memory.hpp"

#include "info.hpp"
#include "runtime/warpfold_emulator.h"

#include <algorithm>
#include <ranges>

std::byte* _cl_mem::host_copy() {
  if (parent) return parent->host_copy() + origin;
  if (host_pointer) return static_cast<std::byte*>(host_pointer);
  if (!own_copy_) own_copy_.reset(new std::byte[size]);
  return own_copy_.get();
}

_cl_mem::~_cl_mem() {
  for (const auto& destructor : std::views::reverse(destructors)) destructor();
  if (parent) return;
  warpfold_emulator_buffer(address, size, true, true);
  cudaFree(address);
}

namespace warpfold::opencl {
namespace {

constexpr cl_mem_flags of_kernels = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
constexpr cl_mem_flags of_host = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
constexpr cl_mem_flags of_place = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

bool at_most_one(cl_mem_flags flags) {
  return (flags & (flags - 1)) == 0;
}

void check_flags(cl_mem_flags flags) {
  require(!(flags & ~(of_kernels | of_host | of_place)) && at_most_one(flags & of_kernels) &&
              at_most_one(flags & of_host),
          CL_INVALID_VALUE);
  const bool uses = flags & CL_MEM_USE_HOST_PTR;
  require(!uses || !(flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)), CL_INVALID_VALUE);
}

cl_mem new_buffer(_cl_context& context, cl_mem_flags flags, std::size_t size, void* host) {
  check_flags(flags);
  require(size > 0, CL_INVALID_BUFFER_SIZE, "a buffer has at least one byte");
  const bool takes_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
  require(takes_host == (host != nullptr), CL_INVALID_HOST_PTR);
  const _cl_device_id& device = *context.devices.front();
  require(size <= device.properties.totalGlobalMem / 4, CL_INVALID_BUFFER_SIZE,
          "larger than CL_DEVICE_MAX_MEM_ALLOC_SIZE");
  auto made = std::make_unique<_cl_mem>();
  made->context = Ref(context);
  made->flags = flags & of_kernels ? flags : flags | CL_MEM_READ_WRITE;
  made->size = size;
  const OnDevice current(device.number);
  void* address = nullptr;
  require_cuda(cudaMalloc(&address, size), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  made->address = static_cast<std::byte*>(address);
  warpfold_emulator_buffer(address, size, !(flags & CL_MEM_WRITE_ONLY), !(flags & CL_MEM_READ_ONLY));
  if (host) require_cuda(cudaMemcpy(address, host, size, cudaMemcpyHostToDevice));
  if (flags & CL_MEM_USE_HOST_PTR) made->host_pointer = host;
  return made.release();
}

// A sub-buffer takes from its parent what its own flags leave open, and may not exceed it.
cl_mem_flags flags_of_part(const _cl_mem& whole, cl_mem_flags flags) {
  check_flags(flags);
  require(!(flags & of_place), CL_INVALID_VALUE);
  const cl_mem_flags kernels = flags & of_kernels ? flags & of_kernels : whole.flags & of_kernels;
  require((whole.flags & CL_MEM_READ_WRITE) || kernels == (whole.flags & of_kernels), CL_INVALID_VALUE);
  const cl_mem_flags host = flags & of_host ? flags & of_host : whole.flags & of_host;
  require(!(whole.flags & of_host) || host == (whole.flags & of_host) || host == CL_MEM_HOST_NO_ACCESS,
          CL_INVALID_VALUE);
  return kernels | host | (whole.flags & of_place);
}

cl_mem new_part(_cl_mem& whole, cl_mem_flags flags, const cl_buffer_region& region) {
  require(!whole.parent, CL_INVALID_MEM_OBJECT, "a sub-buffer cannot be divided further");
  require(region.size > 0, CL_INVALID_BUFFER_SIZE);
  require(region.origin <= whole.size && region.size <= whole.size - region.origin, CL_INVALID_VALUE,
          "the region reaches beyond the buffer's end");
  require(region.origin % base_alignment == 0, CL_MISALIGNED_SUB_BUFFER_OFFSET,
          "the origin must be a multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN, 128 bytes");
  auto made = std::make_unique<_cl_mem>();
  made->parent = Ref(whole);
  made->context = whole.context;
  made->flags = flags_of_part(whole, flags);
  made->size = region.size;
  made->origin = region.origin;
  made->address = whole.address + region.origin;
  if (whole.host_pointer) made->host_pointer = static_cast<std::byte*>(whole.host_pointer) + region.origin;
  return made.release();
}

} // namespace
} // namespace warpfold::opencl

using namespace warpfold::opencl;

extern "C" {

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host, cl_int* code) {
  return created("clCreateBuffer", code,
                 [&] { return new_buffer(checked(context, CL_INVALID_CONTEXT), flags, size, host); });
}

cl_mem clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void* region,
                         cl_int* code) {
  return created("clCreateSubBuffer", code, [&] {
    _cl_mem& whole = checked(buffer, CL_INVALID_MEM_OBJECT);
    require(type == CL_BUFFER_CREATE_TYPE_REGION && region, CL_INVALID_VALUE);
    return new_part(whole, flags, *static_cast<const cl_buffer_region*>(region));
  });
}

cl_int clRetainMemObject(cl_mem handle) {
  return retain_handle("clRetainMemObject", handle, CL_INVALID_MEM_OBJECT);
}
cl_int clReleaseMemObject(cl_mem handle) {
  return release_handle("clReleaseMemObject", handle, CL_INVALID_MEM_OBJECT);
}

cl_int clSetMemObjectDestructorCallback(cl_mem handle, void (*call)(cl_mem, void*), void* data) {
  return status("clSetMemObjectDestructorCallback", [&] {
    _cl_mem& memory = checked(handle, CL_INVALID_MEM_OBJECT);
    require(call != nullptr, CL_INVALID_VALUE);
    memory.destructors.emplace_back([=] { call(handle, data); });
  });
}

cl_int clGetMemObjectInfo(cl_mem handle, cl_mem_info what, size_t room, void* where, size_t* size) {
  return status("clGetMemObjectInfo", [&] {
    const _cl_mem& memory = checked(handle, CL_INVALID_MEM_OBJECT);
    const Info info(room, where, size);
    switch (what) {
    case CL_MEM_TYPE:
      return info.value(cl_mem_object_type{CL_MEM_OBJECT_BUFFER});
    case CL_MEM_FLAGS:
      return info.value(memory.flags);
    case CL_MEM_SIZE:
      return info.value(memory.size);
    case CL_MEM_HOST_PTR:
      return info.value(memory.host_pointer);
    case CL_MEM_MAP_COUNT:
      return info.value(static_cast<cl_uint>(memory.mappings.size()));
    case CL_MEM_REFERENCE_COUNT:
      return info.value(memory.references.load());
    case CL_MEM_CONTEXT:
      return info.value(memory.context.get());
    case CL_MEM_ASSOCIATED_MEMOBJECT:
      return info.value(memory.parent.get());
    case CL_MEM_OFFSET:
      return info.value(memory.origin);
    case CL_MEM_DEVICE_ADDRESS_EXT:
      return info.value(reinterpret_cast<cl_ulong>(memory.address));
    default:
      throw Refusal(CL_INVALID_VALUE);
    }
  });
}
}
