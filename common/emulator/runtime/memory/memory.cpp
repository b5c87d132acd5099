// Allocating, freeing, and querying pointers. Copies are in copies.cpp.
#include "runtime/memory/memory.hpp"
#include "runtime/devices/devices.hpp"
#include "runtime/graphs/graph_memory.hpp"
#include "runtime/memory/free_check.hpp"
#include "runtime/memory/memory_check.hpp"
#include "runtime/memory/pools.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/reporting/host_faults.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/streams.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace warpfold::runtime {
namespace {

using machine::MemoryKind;

// cudaMallocPitch guarantees that each row begins at a multiple of this.
constexpr std::size_t pitch_alignment = 512;

std::string next_label(const char* what, std::size_t size) {
  static std::atomic<unsigned> count{0};
  return fmt::format("{} {} ({} bytes)", what, ++count, size);
}

// With checks on, fresh memory holds bits for which a float is a NaN and an index leads nowhere (as an unset
// register does, machine/instructions/unset.cpp), so that nothing that depends on it is right by luck. The
// beginning is enough of a large allocation: filling all of it would touch pages that the program never does.
void fill_with_leftovers(void* begin, std::size_t size) {
  constexpr std::array<unsigned char, 4> leftovers{0xad, 0xdb, 0xba, 0x7f};
  constexpr std::size_t most = 1 << 20;
  const DeviceMemoryInUse use;
  auto* const bytes = static_cast<unsigned char*>(begin);
  for (std::size_t i = 0; i < std::min(size, most); ++i) bytes[i] = leftovers[i % leftovers.size()];
}

void* allocate(std::size_t size, MemoryKind kind, std::string label, int device) {
  void* memory = Runtime::get().memory.allocate(size, kind, std::move(label), device);
  ordering::allocated(memory, size);
  note_owner(memory);
  if (kind == MemoryKind::device) forget_contents(memory, size);
  return memory;
}

void* allocate(std::size_t size, MemoryKind kind, int device) {
  if (size == 0) return nullptr;
  const char* what = kind == MemoryKind::managed  ? "managed allocation"
                     : kind == MemoryKind::pinned ? "pinned allocation"
                                                  : "allocation";
  return allocate(size, kind, next_label(what, size), device);
}

cudaError_t allocate(const char* caller, void** pointer, std::size_t size, MemoryKind kind) {
  return entry(caller, [&] {
    if (!pointer) return cudaErrorInvalidValue;
    refuse_while_capturing(caller);
    *pointer = allocate(size, kind, current_device());
    return cudaSuccess;
  });
}

void release(const char* caller, const void* pointer, bool (*allowed)(MemoryKind), const char* allowed_by) {
  if (!pointer) return;
  Runtime& runtime = Runtime::get();
  auto allocation = allocation_of(pointer);
  if (!allocation) {
    const auto nearest = runtime.memory.nearest(reinterpret_cast<std::uint64_t>(pointer));
    if (nearest && !nearest->live && nearest->begin == reinterpret_cast<std::uint64_t>(pointer)) {
      note_freed_twice(caller, *nearest);
      throw Refusal(cudaErrorInvalidValue, fmt::format("{} has already been freed", nearest->label));
    }
    throw Refusal(cudaErrorInvalidValue, fmt::format("{} was not allocated by {}", pointer, allowed_by));
  }
  if (!allowed(allocation->kind))
    throw Refusal(cudaErrorInvalidValue,
                  fmt::format("{} was not allocated by {}", allocation->label, allowed_by));
  if (!runtime.memory.release(const_cast<void*>(pointer))) {
    note_freed_inside(caller, pointer, *allocation);
    throw Refusal(cudaErrorInvalidValue,
                  fmt::format("{}: only the first byte of an allocation can be freed", describe(pointer)));
  }
  note_owner(pointer);
}

// Of a device's memory, that device and those that have access to it; of memory that belongs to none, the
// current one. Not all devices: another thread may be about to issue what one of them waits for.
void wait_for_users_of(const void* pointer) {
  const Runtime& runtime = Runtime::get();
  const int owner = runtime.memory.owner(reinterpret_cast<std::uint64_t>(pointer));
  for (int device = 0; device < runtime.memory.devices(); ++device) {
    const bool uses =
        owner == machine::no_device ? device == current_device() : runtime.peers.allows(device, owner);
    if (!uses) continue;
    wait_for_device(device);
    ordering::host_waits_for_device(device);
  }
}

bool is_device(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::managed;
}
bool is_pinned(MemoryKind kind) {
  return kind == MemoryKind::pinned;
}
bool is_registered(MemoryKind kind) {
  return kind == MemoryKind::registered;
}

std::size_t pitch_of(std::size_t width) {
  return (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
}

cudaError_t free_in_order(const char* caller, void* pointer, cudaStream_t stream) {
  return entry(caller, [&] {
    if (const auto memory = GraphMemory::at(pointer)) {
      if (is_captured(stream)) {
        memory->free_in_graph();
        capture_memory(stream, cudaGraphNodeTypeMemFree, memory);
        return cudaSuccess;
      }
      memory->give_back();
      return submit(stream, cudaGraphNodeTypeMemFree, memory->renewal());
    }
    return submit(stream, cudaGraphNodeTypeMemFree, [caller, pointer] {
      if (const auto allocation = allocation_of(pointer)) ordering::writes(pointer, allocation->size);
      release(caller, pointer, is_device, "cudaMalloc or cudaMallocAsync");
      return cudaSuccess;
    });
  });
}

cudaMemoryType type_of(const machine::Allocation& allocation) {
  switch (allocation.kind) {
  case MemoryKind::managed:
    return cudaMemoryTypeManaged;
  case MemoryKind::pinned:
  case MemoryKind::registered:
    return cudaMemoryTypeHost;
  default:
    return Runtime::get().registry.is_managed_variable(allocation.begin) ? cudaMemoryTypeManaged
                                                                         : cudaMemoryTypeDevice;
  }
}

} // namespace

void forget_contents(void* begin, std::size_t size) {
  analysis::Checker* const checker = Runtime::get().checker();
  if (!checker) return;
  checker->allocated(begin, size);
  if (Runtime::get().options.check_initialisation) fill_with_leftovers(begin, size);
}

void* allocate_device(std::size_t size, const PoolPlace& place) {
  void* memory = allocate(size, MemoryKind::device, place.device);
  if (memory) Runtime::get().memory.is_of_pool(memory, *place.access);
  return memory;
}

void* allocate_device(std::size_t size, std::string label) {
  return allocate(size, MemoryKind::device, std::move(label), current_device());
}

void release_device(const char* caller, void* begin) {
  wait_for_users_of(begin);
  release(caller, begin, is_device, "cudaMalloc");
}

cudaError_t allocate_in_order(const char* caller, void** pointer, std::size_t size, cudaStream_t stream,
                              std::optional<PoolPlace> pool) {
  return entry(caller, [&] {
    if (!pointer) return cudaErrorInvalidValue;
    const int device = device_of(stream);
    if (!pool) pool = current_pool(device);
    if (is_captured(stream)) {
      if (size == 0) return cudaErrorInvalidValue;
      const auto memory = GraphMemory::make(size, *pool);
      capture_memory(stream, cudaGraphNodeTypeMemAlloc, memory);
      *pointer = memory->begin();
      return cudaSuccess;
    }
    *pointer = allocate_device(size, *pool);
    // The memory does not exist before that, so every use must come after it.
    return submit(stream, cudaGraphNodeTypeMemAlloc, [begin = *pointer, size] {
      ordering::writes(begin, size);
      return cudaSuccess;
    });
  });
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t size) {
  return allocate("cudaMalloc", pointer, size, MemoryKind::device);
}

cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned flags) {
  if (size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
    return remember(cudaErrorInvalidValue);
  return allocate("cudaMallocManaged", pointer, size, MemoryKind::managed);
}

cudaError_t cudaMallocHost(void** pointer, size_t size) {
  return allocate("cudaMallocHost", pointer, size, MemoryKind::pinned);
}

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned flags) {
  if (flags & ~unsigned{cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined})
    return remember(cudaErrorInvalidValue);
  return allocate("cudaHostAlloc", pointer, size, MemoryKind::pinned);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (!pitch) return remember(cudaErrorInvalidValue);
  *pitch = pitch_of(width);
  return allocate("cudaMallocPitch", pointer, *pitch * height, MemoryKind::device);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  if (!pointer) return remember(cudaErrorInvalidValue);
  const size_t pitch = pitch_of(extent.width);
  void* memory = nullptr;
  const cudaError_t error =
      allocate("cudaMalloc3D", &memory, pitch * extent.height * extent.depth, MemoryKind::device);
  if (error == cudaSuccess) *pointer = {memory, pitch, extent.width, extent.height};
  return error;
}

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
  return allocate_in_order("cudaMallocAsync", pointer, size, stream);
}

cudaError_t cudaFree(void* pointer) {
  return entry("cudaFree", [&] {
    if (pointer) refuse_while_capturing("cudaFree");
    if (pointer) wait_for_users_of(pointer);
    if (const auto memory = GraphMemory::at(pointer)) {
      memory->give_back();
      forget_contents(pointer, memory->size());
      return cudaSuccess;
    }
    release("cudaFree", pointer, is_device, "cudaMalloc");
    return cudaSuccess;
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return free_in_order("cudaFreeAsync", pointer, stream);
}

cudaError_t cudaFreeHost(void* pointer) {
  return entry("cudaFreeHost", [&] {
    wait_for_users_of(pointer);
    release("cudaFreeHost", pointer, is_pinned, "cudaMallocHost or cudaHostAlloc");
    return cudaSuccess;
  });
}

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned) {
  return entry("cudaHostRegister", [&] {
    if (!pointer || size == 0) return cudaErrorInvalidValue;
    return Runtime::get().memory.add_registered(pointer, size) ? cudaSuccess
                                                               : cudaErrorHostMemoryAlreadyRegistered;
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return entry("cudaHostUnregister", [&] {
    wait_for_users_of(pointer);
    auto allocation = pointer ? allocation_of(pointer) : std::nullopt;
    if (!allocation || !is_registered(allocation->kind)) return cudaErrorHostMemoryNotRegistered;
    return Runtime::get().memory.release(pointer) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return entry("cudaHostGetDevicePointer", [&] {
    if (!device || flags != 0) return cudaErrorInvalidValue;
    auto allocation = host ? allocation_of(host) : std::nullopt;
    if (!allocation || !(is_pinned(allocation->kind) || is_registered(allocation->kind)))
      return cudaErrorInvalidValue;
    *device = host;
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return entry("cudaHostGetFlags", [&] {
    auto allocation = host ? allocation_of(host) : std::nullopt;
    if (!flags || !allocation || !is_pinned(allocation->kind)) return cudaErrorInvalidValue;
    *flags = cudaHostAllocMapped;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  return entry("cudaMemGetInfo", [&] {
    const warpfold::machine::AddressSpace& memory = Runtime::get().memory;
    if (available) *available = memory.capacity() - memory.used(current_device());
    if (total) *total = memory.capacity();
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return entry("cudaPointerGetAttributes", [&] {
    if (!attributes) return cudaErrorInvalidValue;
    *attributes = {};
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    auto allocation = pointer ? allocation_of(pointer) : std::nullopt;
    if (!allocation) {
      attributes->hostPointer = const_cast<void*>(pointer);
      return cudaSuccess;
    }
    attributes->type = type_of(*allocation);
    attributes->device = std::max(allocation->device, 0);
    attributes->devicePointer = const_cast<void*>(pointer);
    if (attributes->type != cudaMemoryTypeDevice) attributes->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
  });
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  return entry("cudaGetSymbolAddress", [&] {
    if (!pointer) return cudaErrorInvalidValue;
    *pointer = reinterpret_cast<void*>(Runtime::get().registry.variable(symbol).address);
    return cudaSuccess;
  });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return entry("cudaGetSymbolSize", [&] {
    if (!size) return cudaErrorInvalidValue;
    *size = Runtime::get().registry.variable(symbol).size;
    return cudaSuccess;
  });
}

// On a GPU, advice moves pages; here there is only one memory. The range is checked nevertheless.
#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t size, cudaMemLocation, unsigned,
                                 cudaStream_t stream) {
#else
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t size, int, cudaStream_t stream) {
#endif
  return entry("cudaMemPrefetchAsync", [&] {
    check_stream(stream);
    check_device_range("the range", pointer, size);
    return cudaSuccess;
  });
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemAdvise(const void* pointer, size_t size, cudaMemoryAdvise, cudaMemLocation) {
#else
cudaError_t cudaMemAdvise(const void* pointer, size_t size, cudaMemoryAdvise, int) {
#endif
  return entry("cudaMemAdvise", [&] {
    check_device_range("the range", pointer, size);
    return cudaSuccess;
  });
}
}
