// Nodes that allocate and free memory. The errors are those of an H100.
#include "runtime/graphs/graph_memory.hpp"

#include "runtime/devices/devices.hpp"
#include "runtime/graphs/graph_table.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/runtime.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

namespace warpfold::runtime {
namespace {

struct Usage { // bytes
  std::uint64_t used = 0, most_used = 0, reserved = 0, most_reserved = 0;
  void reserve(std::uint64_t bytes) { most_reserved = std::max(most_reserved, reserved += bytes); }
  void use(std::uint64_t bytes) { most_used = std::max(most_used, used += bytes); }
};

struct MemoryTable {
  std::mutex mutex;
  std::map<const void*, std::weak_ptr<GraphMemory>> all; // by address
  std::array<Usage, machine::most_devices> usage;        // by device

  static MemoryTable& get() {
    static MemoryTable& table = *new MemoryTable;
    return table;
  }
  Usage& on(int device) { return usage.at(static_cast<std::size_t>(device)); }
};

template <typename Body>
cudaError_t with_usage(const char* caller, int device, Body body) {
  return entry(caller, [&] {
    check_device(device);
    MemoryTable& table = MemoryTable::get();
    std::lock_guard lock(table.mutex);
    return body(table.on(device));
  });
}

} // namespace

std::shared_ptr<GraphMemory> GraphMemory::make(std::size_t size, const PoolPlace& place) {
  const std::shared_ptr<GraphMemory> made(new GraphMemory(allocate_device(size, place), size, place.device));
  MemoryTable& table = MemoryTable::get();
  std::lock_guard lock(table.mutex);
  table.all[made->begin()] = made;
  table.on(place.device).reserve(size);
  return made;
}

std::shared_ptr<GraphMemory> GraphMemory::at(const void* begin) {
  MemoryTable& table = MemoryTable::get();
  std::lock_guard lock(table.mutex);
  const auto found = table.all.find(begin);
  return found == table.all.end() ? nullptr : found->second.lock();
}

// What the program still holds is ordinary memory from now on.
GraphMemory::~GraphMemory() {
  {
    MemoryTable& table = MemoryTable::get();
    std::lock_guard lock(table.mutex);
    table.all.erase(begin_);
    table.on(device_).reserved -= size_;
    if (held_) table.on(device_).used -= size_;
  }
  if (!held_) Runtime::get().memory.release(begin_);
}

void GraphMemory::free_in_graph() {
  if (std::exchange(freed_in_graph_, true))
    throw Refusal(cudaErrorInvalidValue, "a node of the graph frees this memory already");
}

void GraphMemory::launch(bool frees_itself) {
  MemoryTable& table = MemoryTable::get();
  std::lock_guard lock(table.mutex);
  if (held_ && !frees_itself)
    throw Refusal(cudaErrorInvalidValue,
                  "memory that the graph allocated in its last launch has not been freed");
  if (!held_) table.on(device_).use(size_);
  held_ = !freed_in_graph_;
  if (!held_) table.on(device_).used -= size_;
}

void GraphMemory::give_back() {
  MemoryTable& table = MemoryTable::get();
  std::lock_guard lock(table.mutex);
  if (!std::exchange(held_, false))
    throw Refusal(cudaErrorInvalidValue,
                  "this memory of a graph is not allocated: the graph was not launched, or "
                  "the memory has been freed since");
  table.on(device_).used -= size_;
}

Work GraphMemory::renewal() const {
  return [begin = begin_, size = size_] {
    ordering::writes(begin, size);
    forget_contents(begin, size);
    return cudaSuccess;
  };
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count,
                                     cudaMemAllocNodeParams* parameters) {
  return with_table("cudaGraphAddMemAllocNode", [&](GraphTable& table) {
    if (!node || !parameters || parameters->bytesize == 0) return cudaErrorInvalidValue;
    if (parameters->poolProps.location.type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
    const int device = parameters->poolProps.location.id;
    check_device(device);
    const PoolPlace place{device, new warpfold::machine::PoolAccess(device)}; // for ever, as that of a pool
    for (size_t i = 0; i < parameters->accessDescCount; ++i) {
      check_device(parameters->accessDescs[i].location.id);
      place.access->allow(parameters->accessDescs[i].location.id, true);
    }
    const auto memory = GraphMemory::make(parameters->bytesize, place);
    *node = table.add_memory_node(graph, dependencies, count, cudaGraphNodeTypeMemAlloc, memory);
    parameters->dptr = memory->begin();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* dependencies, size_t count, void* pointer) {
  return with_table("cudaGraphAddMemFreeNode", [&](GraphTable& table) {
    if (!node) return cudaErrorInvalidValue;
    const auto memory = GraphMemory::at(pointer);
    if (!memory)
      throw Refusal(cudaErrorInvalidValue, "the memory to free was not allocated by a node of a graph");
    memory->free_in_graph();
    *node = table.add_memory_node(graph, dependencies, count, cudaGraphNodeTypeMemFree, memory);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t handle, cudaMemAllocNodeParams* parameters) {
  return with_table("cudaGraphMemAllocNodeGetParams", [&](GraphTable& table) {
    const GraphNode& node = table.node(handle);
    if (!parameters || node.type != cudaGraphNodeTypeMemAlloc) return cudaErrorInvalidValue;
    *parameters = {};
    parameters->poolProps.allocType = cudaMemAllocationTypePinned;
    parameters->poolProps.location.type = cudaMemLocationTypeDevice;
    parameters->poolProps.location.id = node.memory->device();
    parameters->bytesize = node.memory->size();
    parameters->dptr = node.memory->begin();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t handle, void* pointer) {
  return with_table("cudaGraphMemFreeNodeGetParams", [&](GraphTable& table) {
    const GraphNode& node = table.node(handle);
    if (!pointer || node.type != cudaGraphNodeTypeMemFree) return cudaErrorInvalidValue;
    *static_cast<void**>(pointer) = node.memory->begin();
    return cudaSuccess;
  });
}

// Nothing is kept for later launches.
cudaError_t cudaDeviceGraphMemTrim(int device) {
  return with_usage("cudaDeviceGraphMemTrim", device, [](Usage&) { return cudaSuccess; });
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return with_usage("cudaDeviceGetGraphMemAttribute", device, [&](const Usage& usage) {
    if (!value) return cudaErrorInvalidValue;
    const std::uint64_t numbers[] = {usage.used, usage.most_used, usage.reserved, usage.most_reserved};
    if (attribute < 0 || static_cast<std::size_t>(attribute) >= std::size(numbers))
      return cudaErrorInvalidValue;
    std::memcpy(value, &numbers[attribute], sizeof numbers[0]);
    return cudaSuccess;
  });
}

// The most so far can be set to 0, which begins anew.
cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return with_usage("cudaDeviceSetGraphMemAttribute", device, [&](Usage& usage) {
    const std::uint64_t zero = 0;
    if (!value || std::memcmp(value, &zero, sizeof zero) != 0) return cudaErrorInvalidValue;
    if (attribute == cudaGraphMemAttrUsedMemHigh)
      usage.most_used = usage.used;
    else if (attribute == cudaGraphMemAttrReservedMemHigh)
      usage.most_reserved = usage.reserved;
    else
      return cudaErrorInvalidValue;
    return cudaSuccess;
  });
}
}
