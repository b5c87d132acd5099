// Commands that move what buffers hold: between host and device, between buffers, rectangles, fills and maps.
#include "memory.hpp"
#include "queue.hpp"

#include <algorithm>
#include <array>

namespace warpfold::opencl {
namespace {

_cl_mem& checked_buffer(cl_command_queue queue, cl_mem buffer) {
  _cl_mem& memory = checked(buffer, CL_INVALID_MEM_OBJECT);
  require(memory.context.get() == checked_queue(queue).context.get(), CL_INVALID_CONTEXT,
          "the buffer and the queue are of different contexts");
  return memory;
}

void check_range(const _cl_mem& memory, std::size_t offset, std::size_t size) {
  require(size > 0, CL_INVALID_VALUE, "the size is 0");
  require(offset <= memory.size && size <= memory.size - offset, CL_INVALID_VALUE,
          "the range reaches beyond the buffer's end");
}

void check_host_access(const _cl_mem& memory, cl_mem_flags forbidding) {
  require(!(memory.flags & (forbidding | CL_MEM_HOST_NO_ACCESS)), CL_INVALID_OPERATION,
          "the buffer was created with flags that forbid the host this access");
}

void copy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
  require_cuda(cudaMemcpyAsync(to, from, size, kind, stream));
}

// ---- rectangles

using Triple = std::array<std::size_t, 3>;

Triple triple(const std::size_t* values) {
  require(values != nullptr, CL_INVALID_VALUE);
  return {values[0], values[1], values[2]};
}

// One side of a copy of a rectangle: where it begins, and the bytes from row to row and from slice to slice.
struct Side {
  Triple origin{};
  std::size_t row = 0, slice = 0;

  Side(const std::size_t* at, const Triple& region, std::size_t row_pitch, std::size_t slice_pitch)
      : origin(triple(at)), row(row_pitch ? row_pitch : region[0]),
        slice(slice_pitch ? slice_pitch : region[1] * row) {
    require(row >= region[0] && slice >= region[1] * row && slice % row == 0, CL_INVALID_VALUE,
            "a row or slice pitch is smaller than the region, or the one is no multiple of the other");
  }
  std::size_t first_byte() const { return origin[2] * slice + origin[1] * row + origin[0]; }
  std::size_t end(const Triple& region) const {
    return first_byte() + (region[2] - 1) * slice + (region[1] - 1) * row + region[0];
  }
  cudaPitchedPtr pitched(void* memory) const { return {memory, row, row, slice / row}; }
  cudaPos position() const { return {origin[0], origin[1], origin[2]}; }
};

Triple checked_region(const std::size_t* values) {
  const Triple region = triple(values);
  require(region[0] > 0 && region[1] > 0 && region[2] > 0, CL_INVALID_VALUE, "the region is empty");
  return region;
}

void copy_rectangle(void* to, const Side& at, void* from, const Side& of, const Triple& region,
                    cudaMemcpyKind kind, cudaStream_t stream) {
  cudaMemcpy3DParms what{};
  what.dstPtr = at.pitched(to);
  what.dstPos = at.position();
  what.srcPtr = of.pitched(from);
  what.srcPos = of.position();
  what.extent = {region[0], region[1], region[2]};
  what.kind = kind;
  require_cuda(cudaMemcpy3DAsync(&what, stream));
}

// ---- fills

// Byte by byte of the pattern, each to every place of it: no memory has to outlive the call.
void fill(std::byte* to, const std::vector<std::byte>& pattern, std::size_t size, cudaStream_t stream) {
  const std::size_t period = pattern.size();
  const bool is_uniform =
      std::all_of(pattern.begin(), pattern.end(), [&](auto b) { return b == pattern[0]; });
  if (is_uniform) return require_cuda(cudaMemsetAsync(to, std::to_integer<int>(pattern[0]), size, stream));
  for (std::size_t i = 0; i < period; ++i)
    require_cuda(
        cudaMemset2DAsync(to + i, period, std::to_integer<int>(pattern[i]), 1, size / period, stream));
}

} // namespace
} // namespace warpfold::opencl

using namespace warpfold::opencl;

extern "C" {

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, void* to, cl_uint count, const cl_event* list, cl_event* event) {
  return status("clEnqueueReadBuffer", [&] {
    _cl_mem& memory = checked_buffer(queue, buffer);
    require(to != nullptr, CL_INVALID_VALUE);
    check_range(memory, offset, size);
    check_host_access(memory, CL_MEM_HOST_WRITE_ONLY);
    enqueue({queue, count, list, event}, CL_COMMAND_READ_BUFFER, blocking,
            [=, held = Ref(memory)](cudaStream_t stream) {
              copy(to, held->address + offset, size, cudaMemcpyDeviceToHost, stream);
            });
  });
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                            size_t size, const void* from, cl_uint count, const cl_event* list,
                            cl_event* event) {
  return status("clEnqueueWriteBuffer", [&] {
    _cl_mem& memory = checked_buffer(queue, buffer);
    require(from != nullptr, CL_INVALID_VALUE);
    check_range(memory, offset, size);
    check_host_access(memory, CL_MEM_HOST_READ_ONLY);
    enqueue({queue, count, list, event}, CL_COMMAND_WRITE_BUFFER, blocking,
            [=, held = Ref(memory)](cudaStream_t stream) {
              copy(held->address + offset, from, size, cudaMemcpyHostToDevice, stream);
            });
  });
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem source, cl_mem destination, size_t source_offset,
                           size_t offset, size_t size, cl_uint count, const cl_event* list, cl_event* event) {
  return status("clEnqueueCopyBuffer", [&] {
    _cl_mem& from = checked_buffer(queue, source);
    _cl_mem& to = checked_buffer(queue, destination);
    check_range(from, source_offset, size);
    check_range(to, offset, size);
    const std::byte* const first = from.address + source_offset;
    std::byte* const target = to.address + offset;
    require(first + size <= target || target + size <= first, CL_MEM_COPY_OVERLAP);
    enqueue({queue, count, list, event}, CL_COMMAND_COPY_BUFFER, false,
            [=, held = std::pair(Ref(from), Ref(to))](cudaStream_t stream) {
              copy(target, first, size, cudaMemcpyDeviceToDevice, stream);
            });
  });
}

cl_int clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t* origin,
                               const size_t* host_origin, const size_t* region, size_t row, size_t slice,
                               size_t host_row, size_t host_slice, void* to, cl_uint count,
                               const cl_event* list, cl_event* event) {
  return status("clEnqueueReadBufferRect", [&] {
    _cl_mem& memory = checked_buffer(queue, buffer);
    require(to != nullptr, CL_INVALID_VALUE);
    const Triple size = checked_region(region);
    const Side here(host_origin, size, host_row, host_slice), there(origin, size, row, slice);
    check_range(memory, there.first_byte(), there.end(size) - there.first_byte());
    check_host_access(memory, CL_MEM_HOST_WRITE_ONLY);
    enqueue({queue, count, list, event}, CL_COMMAND_READ_BUFFER_RECT, blocking,
            [=, held = Ref(memory)](cudaStream_t stream) {
              copy_rectangle(to, here, held->address, there, size, cudaMemcpyDeviceToHost, stream);
            });
  });
}

cl_int clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t* origin,
                                const size_t* host_origin, const size_t* region, size_t row, size_t slice,
                                size_t host_row, size_t host_slice, const void* from, cl_uint count,
                                const cl_event* list, cl_event* event) {
  return status("clEnqueueWriteBufferRect", [&] {
    _cl_mem& memory = checked_buffer(queue, buffer);
    require(from != nullptr, CL_INVALID_VALUE);
    const Triple size = checked_region(region);
    const Side here(host_origin, size, host_row, host_slice), there(origin, size, row, slice);
    check_range(memory, there.first_byte(), there.end(size) - there.first_byte());
    check_host_access(memory, CL_MEM_HOST_READ_ONLY);
    enqueue({queue, count, list, event}, CL_COMMAND_WRITE_BUFFER_RECT, blocking,
            [=, held = Ref(memory)](cudaStream_t stream) {
              copy_rectangle(held->address, there, const_cast<void*>(from), here, size,
                             cudaMemcpyHostToDevice, stream);
            });
  });
}

cl_int clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem source, cl_mem destination,
                               const size_t* source_origin, const size_t* origin, const size_t* region,
                               size_t source_row, size_t source_slice, size_t row, size_t slice,
                               cl_uint count, const cl_event* list, cl_event* event) {
  return status("clEnqueueCopyBufferRect", [&] {
    _cl_mem& from = checked_buffer(queue, source);
    _cl_mem& to = checked_buffer(queue, destination);
    const Triple size = checked_region(region);
    const Side first(source_origin, size, source_row, source_slice), target(origin, size, row, slice);
    check_range(from, first.first_byte(), first.end(size) - first.first_byte());
    check_range(to, target.first_byte(), target.end(size) - target.first_byte());
    if (&from == &to) {
      require(first.row == target.row && first.slice == target.slice, CL_INVALID_VALUE,
              "within one buffer, both sides have the same pitches");
      bool apart = false;
      for (int axis = 0; axis < 3; ++axis)
        apart |= first.origin[axis] + size[axis] <= target.origin[axis] ||
                 target.origin[axis] + size[axis] <= first.origin[axis];
      require(apart, CL_MEM_COPY_OVERLAP);
    }
    enqueue({queue, count, list, event}, CL_COMMAND_COPY_BUFFER_RECT, false,
            [=, held = std::pair(Ref(from), Ref(to))](cudaStream_t stream) {
              copy_rectangle(held.second->address, target, held.first->address, first, size,
                             cudaMemcpyDeviceToDevice, stream);
            });
  });
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void* pattern, size_t pattern_size,
                           size_t offset, size_t size, cl_uint count, const cl_event* list, cl_event* event) {
  return status("clEnqueueFillBuffer", [&] {
    _cl_mem& memory = checked_buffer(queue, buffer);
    constexpr std::size_t largest = 128;
    require(pattern && pattern_size > 0 && pattern_size <= largest && !(pattern_size & (pattern_size - 1)),
            CL_INVALID_VALUE, "a pattern has 1, 2, 4, ... or 128 bytes");
    check_range(memory, offset, size);
    require(offset % pattern_size == 0 && size % pattern_size == 0, CL_INVALID_VALUE,
            "offset and size must be multiples of the pattern's size");
    const auto* const first = static_cast<const std::byte*>(pattern);
    enqueue({queue, count, list, event}, CL_COMMAND_FILL_BUFFER, false,
            [=, held = Ref(memory), all = std::vector(first, first + pattern_size)](cudaStream_t stream) {
              fill(held->address + offset, all, size, stream);
            });
  });
}

void* clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                         size_t offset, size_t size, cl_uint count, const cl_event* list, cl_event* event,
                         cl_int* code) {
  return created("clEnqueueMapBuffer", code, [&]() -> void* {
    _cl_mem& memory = checked_buffer(queue, buffer);
    constexpr cl_map_flags writing = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
    require(!(flags & ~(CL_MAP_READ | writing)), CL_INVALID_VALUE);
    require(!(flags & CL_MAP_WRITE_INVALIDATE_REGION) || !(flags & (CL_MAP_READ | CL_MAP_WRITE)),
            CL_INVALID_VALUE);
    check_range(memory, offset, size);
    if (flags & CL_MAP_READ) check_host_access(memory, CL_MEM_HOST_WRITE_ONLY);
    if (flags & writing) check_host_access(memory, CL_MEM_HOST_READ_ONLY);
    std::unique_lock lock(state().mutex);
    std::byte* const pointer = memory.host_copy() + offset;
    lock.unlock();
    // Whoever writes may leave places as they are, so those are needed as well.
    const bool reads = !(flags & CL_MAP_WRITE_INVALIDATE_REGION);
    enqueue({queue, count, list, event}, CL_COMMAND_MAP_BUFFER, blocking,
            [=, held = Ref(memory)](cudaStream_t stream) {
              if (reads) copy(pointer, held->address + offset, size, cudaMemcpyDeviceToHost, stream);
            });
    lock.lock();
    memory.mappings.push_back({pointer, offset, size, (flags & writing) != 0});
    return pointer;
  });
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem buffer, void* pointer, cl_uint count,
                               const cl_event* list, cl_event* event) {
  return status("clEnqueueUnmapMemObject", [&] {
    _cl_mem& memory = checked_buffer(queue, buffer);
    const std::lock_guard lock(state().mutex);
    const auto found = std::find_if(memory.mappings.begin(), memory.mappings.end(),
                                    [&](const auto& mapping) { return mapping.pointer == pointer; });
    require(found != memory.mappings.end(), CL_INVALID_VALUE, "nothing of this buffer is mapped there");
    const _cl_mem::Mapping mapping = *found;
    enqueue({queue, count, list, event}, CL_COMMAND_UNMAP_MEM_OBJECT, false,
            [mapping, held = Ref(memory)](cudaStream_t stream) {
              if (mapping.for_writing)
                copy(held->address + mapping.offset, mapping.pointer, mapping.size, cudaMemcpyHostToDevice,
                     stream);
            });
    memory.mappings.erase(found);
  });
}

// All devices of a context reach its buffers where they are, so nothing moves; the event still says when it
// is so.
cl_int clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint buffer_count, const cl_mem* buffers,
                                  cl_mem_migration_flags flags, cl_uint count, const cl_event* list,
                                  cl_event* event) {
  return status("clEnqueueMigrateMemObjects", [&] {
    require(buffer_count > 0 && buffers, CL_INVALID_VALUE);
    constexpr cl_mem_migration_flags known =
        CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
    require(!(flags & ~known), CL_INVALID_VALUE);
    for (cl_uint i = 0; i < buffer_count; ++i) checked_buffer(queue, buffers[i]);
    enqueue({queue, count, list, event}, CL_COMMAND_MIGRATE_MEM_OBJECTS, false, [](cudaStream_t) {});
  });
}
}
