// Copies and fills. Each checks its ranges when it is issued and moves the bytes when its turn comes. Those
// that only copy arrays are in array_copies.cpp.
#include "runtime/memory/copies.hpp"

#include "runtime/devices/devices.hpp"
#include "runtime/launches/progress.hpp"
#include "runtime/memory/arrays.hpp"
#include "runtime/memory/memory_check.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/streams.hpp"

#include <cstring>
#include <fmt/format.h>
#include <string_view>

namespace warpfold::runtime {
namespace {

std::size_t extent_of(const Box& box, const cudaExtent& extent) {
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return 0;
  return (extent.depth - 1) * box.slice + (extent.height - 1) * box.pitch + extent.width;
}

Box box_of(void* pointer, std::size_t pitch, std::size_t height) {
  return {static_cast<std::byte*>(pointer), pitch, pitch * height};
}

Box box_of(const cudaPitchedPtr& pointer, const cudaPos& at) {
  Box box = box_of(pointer.ptr, pointer.pitch, pointer.ysize);
  if (box.begin) box.begin += at.z * box.slice + at.y * box.pitch + at.x;
  return box;
}

template <typename Visit>
void each_row(const Box& destination, const Box& source, const cudaExtent& extent, Visit visit) {
  for (std::size_t z = 0; z < extent.depth; ++z)
    for (std::size_t y = 0; y < extent.height; ++y)
      visit(destination.begin + z * destination.slice + y * destination.pitch,
            source.begin + z * source.slice + y * source.pitch);
}

void copy_box(const Box& destination, const Box& source, const cudaExtent& extent) {
  each_row(destination, source, extent, [&](std::byte* to, const std::byte* from) {
    check_written(to, from, extent.width);
    std::memmove(to, from, extent.width);
    note_written(to, extent.width, from);
  });
}

// What the function's name implies. The other functions return when the copy is done, or possibly earlier.
bool is_asynchronous(std::string_view caller) {
  return caller.ends_with("Async");
}

void check_pitch(std::size_t pitch, std::size_t width, bool several_rows) {
  if (several_rows && pitch < width)
    throw Refusal(cudaErrorInvalidPitchValue,
                  fmt::format("a pitch of {} bytes is less than a row's {}", pitch, width));
}

// "This function is asynchronous with respect to the host, but serialized with respect to all pending and
// future asynchronous work" of the device in use and of both others (CUDA Runtime API, cudaMemcpyPeer and
// cudaMemcpy3DPeer). Here the host waits for what is pending, and for the copy.
template <typename Copy>
cudaError_t between_peers(const char* caller, int destination, int source, Copy copy) {
  const auto wait = [&] {
    for (const int device : {current_device(), destination, source}) {
      wait_for_device(device);
      ordering::host_waits_for_device(device);
    }
  };
  if (is_asynchronous(caller)) return copy();
  Runtime::get().recorder.add_serialised_copy();
  wait();
  const cudaError_t error = copy();
  wait();
  return error;
}

// A copy in the default stream between two devices' memory starts when all that was issued to either of them
// has ended, and ends before what is issued later starts, whatever the streams (CUDA Programming Guide,
// "Peer-to-Peer Memory Copy").
template <typename Copy>
cudaError_t between_owners(const char* caller, const void* destination, const void* source,
                           cudaStream_t stream, Copy copy) {
  const auto owner_of = [](const void* pointer) {
    return Runtime::get().memory.owner(reinterpret_cast<std::uint64_t>(pointer));
  };
  const int to = owner_of(destination), from = owner_of(source);
  const bool two_devices = to != from && to != machine::no_device && from != machine::no_device;
  if (!two_devices) return copy();
  if (is_asynchronous(caller) && device_of(stream) != from) Runtime::get().recorder.add_pulled_copy();
  return between_peers(caller, to, from, copy);
}

cudaError_t copy(const char* caller, void* destination, const void* source, std::size_t size,
                 cudaMemcpyKind kind, cudaStream_t stream) {
  return entry(caller, [&] {
    check_copy(destination, source, size, kind);
    const bool blocking = !is_asynchronous(caller);
    return between_owners(caller, destination, source, stream, [=] {
      return submit(
          stream, cudaGraphNodeTypeMemcpy,
          [=] {
            const Timed timed(Doing::copying);
            ordering::copies(destination, source, size, blocking);
            check_written(destination, source, size);
            if (size) std::memmove(destination, source, size);
            note_written(destination, size, source);
            count_copy(destination, source, size);
            return cudaSuccess;
          },
          [=] { return ordering::copy_returns(destination, source, blocking); });
    });
  });
}

} // namespace

cudaError_t copy(const char* caller, const Box& destination, const Box& source, const cudaExtent& extent,
                 cudaMemcpyKind kind, cudaStream_t stream) {
  return entry(caller, [&] {
    const bool several_rows = extent.height * extent.depth > 1;
    check_pitch(destination.pitch, extent.width, several_rows);
    check_pitch(source.pitch, extent.width, several_rows);
    check_copy(destination.begin, source.begin, 0,
               kind); // the direction is implied; the two ends have different sizes
    check_any_range("the destination", destination.begin, extent_of(destination, extent));
    check_any_range("the source", source.begin, extent_of(source, extent));
    const bool blocking = !is_asynchronous(caller);
    return between_owners(caller, destination.begin, source.begin, stream, [=] {
      return submit(
          stream, cudaGraphNodeTypeMemcpy,
          [=] {
            const Timed timed(Doing::copying);
            each_row(destination, source, extent, [&](std::byte* to, std::byte* from) {
              ordering::copies(to, from, extent.width, blocking);
            });
            copy_box(destination, source, extent);
            count_copy(destination.begin, source.begin, extent.width * extent.height * extent.depth);
            return cudaSuccess;
          },
          [=] { return ordering::copy_returns(destination.begin, source.begin, blocking); });
    });
  });
}

namespace {

cudaError_t copy(const char* caller, const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  const cudaArray_t to = parameters->dstArray, from = parameters->srcArray;
  if (!to && !from)
    return copy(caller, box_of(parameters->dstPtr, parameters->dstPos),
                box_of(parameters->srcPtr, parameters->srcPos), parameters->extent, parameters->kind, stream);
  return entry(caller, [&] {
    if ((to && parameters->dstPtr.ptr) || (from && parameters->srcPtr.ptr)) return cudaErrorInvalidValue;
    // Where an array takes part, the extent counts its elements.
    const cudaExtent& extent = parameters->extent;
    const Box destination =
        to ? box_in(to, parameters->dstPos, extent) : box_of(parameters->dstPtr, parameters->dstPos);
    const Box source =
        from ? box_in(from, parameters->srcPos, extent) : box_of(parameters->srcPtr, parameters->srcPos);
    const std::size_t width = extent.width * bytes_of_element(to ? to : from);
    return copy(caller, destination, source, {width, extent.height, extent.depth}, parameters->kind, stream);
  });
}

// A copy between peers names the device of each side.
void check_belongs(const char* what, const void* pointer, int device) {
  check_device(device);
  const int owner = Runtime::get().memory.owner(reinterpret_cast<std::uint64_t>(pointer));
  if (owner != machine::no_device && owner != device)
    throw Refusal(cudaErrorInvalidValue, fmt::format("{} is said to be on device {}, but is on device {}: {}",
                                                     what, device, owner, describe(pointer)));
}

cudaError_t copy(const char* caller, const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  if (parameters->srcArray || parameters->dstArray)
    return not_supported(caller, "copy linear memory, not CUDA arrays");
  return entry(caller, [&] {
    check_belongs("the destination", parameters->dstPtr.ptr, parameters->dstDevice);
    check_belongs("the source", parameters->srcPtr.ptr, parameters->srcDevice);
    return between_peers(caller, parameters->dstDevice, parameters->srcDevice, [&] {
      return copy(caller, box_of(parameters->dstPtr, parameters->dstPos),
                  box_of(parameters->srcPtr, parameters->srcPos), parameters->extent, cudaMemcpyDefault,
                  stream);
    });
  });
}

cudaError_t copy_2d(const char* caller, void* destination, std::size_t destination_pitch, const void* source,
                    std::size_t source_pitch, std::size_t width, std::size_t height, cudaMemcpyKind kind,
                    cudaStream_t stream) {
  return copy(caller, box_of(destination, destination_pitch, height),
              box_of(const_cast<void*>(source), source_pitch, height), cudaExtent{width, height, 1}, kind,
              stream);
}

cudaError_t to_symbol(const char* caller, const void* symbol, const void* source, std::size_t size,
                      std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return entry(caller, [&] {
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
      return cudaErrorInvalidMemcpyDirection;
    return copy(caller, inside_symbol(symbol, size, offset), source, size, kind, stream);
  });
}

cudaError_t from_symbol(const char* caller, void* destination, const void* symbol, std::size_t size,
                        std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return entry(caller, [&] {
    if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
      return cudaErrorInvalidMemcpyDirection;
    return copy(caller, destination, inside_symbol(symbol, size, offset), size, kind, stream);
  });
}

cudaError_t fill(const char* caller, const Box& box, int value, const cudaExtent& extent,
                 cudaStream_t stream) {
  return entry(caller, [&] {
    check_pitch(box.pitch, extent.width, extent.height * extent.depth > 1);
    check_device_range("the destination", box.begin, extent_of(box, extent));
    const bool blocking = !is_asynchronous(caller);
    return submit(
        stream, cudaGraphNodeTypeMemset,
        [=] {
          const Timed timed(Doing::copying);
          for (std::size_t z = 0; z < extent.depth; ++z)
            for (std::size_t y = 0; y < extent.height; ++y)
              if (extent.width) {
                std::byte* row = box.begin + z * box.slice + y * box.pitch;
                std::memset(row, value, extent.width);
                note_written(row, extent.width);
                ordering::fills(row, extent.width, blocking);
              }
          return cudaSuccess;
        },
        [=] { return ordering::fill_returns(box.begin, blocking); });
  });
}

cudaError_t fill(const char* caller, void* pointer, int value, std::size_t size, cudaStream_t stream) {
  return fill(caller, box_of(pointer, size, 1), value, cudaExtent{size, 1, 1}, stream);
}

cudaError_t peer(const char* caller, void* destination, int destination_device, const void* source,
                 int source_device, std::size_t size, cudaStream_t stream) {
  return entry(caller, [&] {
    check_belongs("the destination", destination, destination_device);
    check_belongs("the source", source, source_device);
    return between_peers(caller, destination_device, source_device, [&] {
      return copy(caller, destination, source, size, cudaMemcpyDeviceToDevice, stream);
    });
  });
}

} // namespace
} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaMemcpy(void* destination, const void* source, size_t size, cudaMemcpyKind kind) {
  return copy("cudaMemcpy", destination, source, size, kind, nullptr);
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy("cudaMemcpyAsync", destination, source, size, kind, stream);
}

cudaError_t cudaMemcpyPeer(void* destination, int destination_device, const void* source, int source_device,
                           size_t size) {
  return peer("cudaMemcpyPeer", destination, destination_device, source, source_device, size, nullptr);
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int destination_device, const void* source,
                                int source_device, size_t size, cudaStream_t stream) {
  return peer("cudaMemcpyPeerAsync", destination, destination_device, source, source_device, size, stream);
}

cudaError_t cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  return copy_2d("cudaMemcpy2D", destination, destination_pitch, source, source_pitch, width, height, kind,
                 nullptr);
}

cudaError_t cudaMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source,
                              size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return copy_2d("cudaMemcpy2DAsync", destination, destination_pitch, source, source_pitch, width, height,
                 kind, stream);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return copy("cudaMemcpy3D", parameters, nullptr);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return copy("cudaMemcpy3DAsync", parameters, stream);
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  return copy("cudaMemcpy3DPeer", parameters, nullptr);
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  return copy("cudaMemcpy3DPeerAsync", parameters, stream);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t size, size_t offset,
                               cudaMemcpyKind kind) {
  return to_symbol("cudaMemcpyToSymbol", symbol, source, size, offset, kind, nullptr);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t size, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return to_symbol("cudaMemcpyToSymbolAsync", symbol, source, size, offset, kind, stream);
}

cudaError_t cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t size, size_t offset,
                                 cudaMemcpyKind kind) {
  return from_symbol("cudaMemcpyFromSymbol", destination, symbol, size, offset, kind, nullptr);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t size, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return from_symbol("cudaMemcpyFromSymbolAsync", destination, symbol, size, offset, kind, stream);
}

cudaError_t cudaMemset(void* pointer, int value, size_t size) {
  return fill("cudaMemset", pointer, value, size, nullptr);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t size, cudaStream_t stream) {
  return fill("cudaMemsetAsync", pointer, value, size, stream);
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return fill("cudaMemset2D", box_of(pointer, pitch, height), value, {width, height, 1}, nullptr);
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return fill("cudaMemset2DAsync", box_of(pointer, pitch, height), value, {width, height, 1}, stream);
}

cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
  return fill("cudaMemset3D", box_of(pointer, cudaPos{}), value, extent, nullptr);
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream) {
  return fill("cudaMemset3DAsync", box_of(pointer, cudaPos{}), value, extent, stream);
}
}
