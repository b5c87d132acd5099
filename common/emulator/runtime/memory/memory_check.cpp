#include "runtime/memory/memory_check.hpp"

#include "analysis/words.hpp"
#include "runtime/devices/devices.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/reporting/call_sites.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/runtime.hpp"

#include <fmt/format.h>
#include <utility>

namespace warpfold::runtime {
namespace {

using machine::Allocation;
using machine::MemoryKind;

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// Memory that the host's own instructions may also access.
bool is_host_accessible(const Allocation& allocation) {
  return allocation.kind == MemoryKind::managed || allocation.kind == MemoryKind::pinned ||
         allocation.kind == MemoryKind::registered ||
         (allocation.kind == MemoryKind::variable &&
          Runtime::get().registry.is_managed_variable(allocation.begin));
}

void check_fits(const char* what, const void* pointer, std::size_t size, const Allocation& allocation) {
  if (address_of(pointer) + size <= allocation.end() && address_of(pointer) + size >= address_of(pointer))
    return;
  throw Refusal(cudaErrorInvalidValue,
                fmt::format("{} bytes, but only {} are left at {}: it is {}", size,
                            allocation.end() - address_of(pointer), what, describe(pointer)));
}

void check_host_side(const char* what, const void* pointer, std::size_t size, const char* direction) {
  check_any_range(what, pointer, size);
  if (auto allocation = allocation_of(pointer); allocation && !is_host_accessible(*allocation))
    throw Refusal(cudaErrorInvalidValue, fmt::format("the direction is {}, but {} is device memory: {}",
                                                     direction, what, describe(pointer)));
}

void check_device_side(const char* what, const void* pointer, std::size_t size, const char* direction) {
  if (pointer && !allocation_of(pointer) && !Runtime::get().memory.reserves(address_of(pointer)))
    throw Refusal(cudaErrorInvalidValue,
                  fmt::format("the direction is {}, but {} ({}) is host memory", direction, what, pointer));
  check_device_range(what, pointer, size);
}

} // namespace

void count_copy(const void* destination, const void* source, std::size_t size) {
  Runtime& runtime = Runtime::get();
  if (!runtime.recording) return;
  count_peer_copy(destination, source, size);
  const auto on_device = [](const void* pointer) {
    const auto allocation = allocation_of(pointer);
    return allocation && !is_host_accessible(*allocation);
  };
  const bool from_device = on_device(source), to_device = on_device(destination);
  if (from_device && to_device)
    runtime.recorder.add_copy_on_devices(size);
  else if (from_device || to_device)
    runtime.recorder.add_copy(from_device, size);
}

std::optional<Allocation> allocation_of(const void* pointer) {
  return Runtime::get().memory.find(address_of(pointer));
}

std::string describe(const void* pointer) {
  auto nearest = Runtime::get().memory.nearest(address_of(pointer));
  if (!nearest) return fmt::format("{}, no allocation is near", pointer);
  const std::uint64_t address = address_of(pointer);
  const std::string state = nearest->live ? "" : ", which was freed";
  if (address < nearest->begin)
    return fmt::format("{} bytes before {}{}", nearest->begin - address, nearest->label, state);
  return fmt::format("byte {} of {}{}", address - nearest->begin, nearest->label, state);
}

void check_device_range(const char* what, const void* pointer, std::size_t size) {
  if (size == 0) return;
  if (!pointer) throw Refusal(cudaErrorInvalidValue, fmt::format("{} is null", what));
  auto allocation = allocation_of(pointer);
  if (!allocation && !Runtime::get().memory.reserves(address_of(pointer)))
    throw Refusal(cudaErrorInvalidValue,
                  fmt::format("{} ({}) is host memory; device memory is needed", what, pointer));
  if (!allocation)
    throw Refusal(cudaErrorInvalidValue,
                  fmt::format("{} is not in live device memory: {}", what, describe(pointer)));
  check_fits(what, pointer, size, *allocation);
}

void check_any_range(const char* what, const void* pointer, std::size_t size) {
  if (size == 0) return;
  if (pointer && !allocation_of(pointer) && !Runtime::get().memory.reserves(address_of(pointer))) return;
  check_device_range(what, pointer, size);
}

std::byte* inside_symbol(const void* symbol, std::size_t size, std::size_t offset) {
  const machine::PlacedVariable variable = Runtime::get().registry.variable(symbol);
  if (offset > variable.size || size > variable.size - offset)
    throw Refusal(cudaErrorInvalidValue, fmt::format("{} bytes at offset {} reach past the {} bytes of {}",
                                                     size, offset, variable.size, variable.name));
  return reinterpret_cast<std::byte*>(variable.address) + offset;
}

void check_copy(const void* destination, const void* source, std::size_t size, cudaMemcpyKind kind) {
  switch (kind) {
  case cudaMemcpyHostToHost:
    check_host_side("the destination", destination, size, "host to host");
    check_host_side("the source", source, size, "host to host");
    return;
  case cudaMemcpyHostToDevice:
    check_device_side("the destination", destination, size, "host to device");
    check_host_side("the source", source, size, "host to device");
    return;
  case cudaMemcpyDeviceToHost:
    check_host_side("the destination", destination, size, "device to host");
    check_device_side("the source", source, size, "device to host");
    return;
  case cudaMemcpyDeviceToDevice:
    check_device_side("the destination", destination, size, "device to device");
    check_device_side("the source", source, size, "device to device");
    return;
  case cudaMemcpyDefault:
    check_any_range("the destination", destination, size);
    check_any_range("the source", source, size);
    return;
  }
  throw Refusal(cudaErrorInvalidMemcpyDirection,
                fmt::format("{} is not a direction", static_cast<int>(kind)));
}

void check_written(const void* destination, const void* source, std::size_t size) {
  Runtime& runtime = Runtime::get();
  analysis::Checker* const checker = runtime.checker();
  if (!checker || !runtime.options.check_initialisation || size == 0) return;
  const auto from = allocation_of(source);
  if (!from || from->kind != MemoryKind::device) return;
  if (const auto to = allocation_of(destination); to && !is_host_accessible(*to)) return;
  const std::uint64_t unwritten = checker->unwritten(source, size);
  if (unwritten == 0) return;
  const std::string library = library_function(ordering::frames_of_call());
  analysis::Hazard hazard =
      analysis::describe_unwritten_copy(library.empty() ? "the host" : library, unwritten, size, from->label);
  hazard.where = ordering::line_of_call();
  runtime.recorder.add(std::move(hazard));
}

void note_written(const void* begin, std::size_t size, const void* source) {
  Runtime& runtime = Runtime::get();
  if (analysis::Checker* checker = runtime.checker()) checker->written(begin, size);
  if (!runtime.provenance) return;
  if (source)
    runtime.provenance->copied(begin, source, size);
  else
    runtime.provenance->filled(begin, size);
}

} // namespace warpfold::runtime
