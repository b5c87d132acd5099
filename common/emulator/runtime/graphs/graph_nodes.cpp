// The nodes of a graph: adding, querying and changing them.
#include "runtime/graphs/conditions.hpp"
#include "runtime/graphs/graph_table.hpp"
#include "runtime/launches/launch.hpp"
#include "runtime/memory/memory_check.hpp"
#include "runtime/ordering/ordering.hpp"
#include "runtime/runtime.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::runtime {
namespace {

// Adds a node on behalf of the program. `node` gets its handle.
template <typename MakeWork>
cudaError_t add_node(const char* caller, cudaGraphNode_t* node, cudaGraph_t graph,
                     const cudaGraphNode_t* dependencies, std::size_t count, cudaGraphNodeType type,
                     MakeWork make_work) {
  return with_table(caller, [&](GraphTable& table) {
    if (!node || (count && !dependencies)) return cudaErrorInvalidValue;
    *node = reinterpret_cast<cudaGraphNode_t>(
        table.graph(graph).add(type, make_work(), nodes_behind(dependencies, count)));
    return cudaSuccess;
  });
}

// A launch whose arguments are copied now, as CUDA guarantees for kernel nodes.
Work kernel_work(const cudaKernelNodeParams& parameters) {
  if (parameters.extra)
    throw Refusal(cudaErrorNotSupported, "kernel arguments in `extra`: pass kernelParams");
  machine::LaunchShape shape{{parameters.gridDim.x, parameters.gridDim.y, parameters.gridDim.z},
                             {parameters.blockDim.x, parameters.blockDim.y, parameters.blockDim.z},
                             parameters.sharedMemBytes};
  KernelEntry& kernel = Runtime::get().registry.kernel(parameters.func);
  return LaunchWork{prepare(kernel, shape, parameters.kernelParams)};
}

// The copy checks its ranges when its turn comes.
Work memcpy_work(void* destination, const void* source, std::size_t size, cudaMemcpyKind kind) {
  check_copy(destination, source, size, kind);
  return [=] { return cudaMemcpyAsync(destination, source, size, kind, cudaStreamPerThread); };
}

template <typename Value>
void fill_rows(const cudaMemsetParams& parameters) {
  const Value value = static_cast<Value>(parameters.value);
  for (std::size_t y = 0; y < parameters.height; ++y) {
    auto row = reinterpret_cast<Value*>(static_cast<std::byte*>(parameters.dst) + y * parameters.pitch);
    std::fill(row, row + parameters.width, value);
    note_written(row, parameters.width * sizeof(Value));
    ordering::fills(row, parameters.width * sizeof(Value), false);
  }
}

Work memset_work(const cudaMemsetParams& parameters) {
  if (parameters.elementSize != 1 && parameters.elementSize != 2 && parameters.elementSize != 4)
    throw Refusal(cudaErrorInvalidValue,
                  fmt::format("elements of {} bytes: 1, 2 or 4 are allowed", parameters.elementSize));
  const std::size_t rows = parameters.height ? (parameters.height - 1) * parameters.pitch : 0;
  check_device_range("the destination", parameters.dst, rows + parameters.width * parameters.elementSize);
  return [=] {
    if (parameters.elementSize == 1) fill_rows<std::uint8_t>(parameters);
    if (parameters.elementSize == 2) fill_rows<std::uint16_t>(parameters);
    if (parameters.elementSize == 4) fill_rows<std::uint32_t>(parameters);
    return cudaSuccess;
  };
}

Work host_work(const cudaHostNodeParams& parameters) {
  return [=] {
    parameters.fn(parameters.userData);
    return cudaSuccess;
  };
}

// Copies handles out as the query functions do: without an array, only their number.
cudaError_t list_nodes(const std::vector<const GraphNode*>& nodes, cudaGraphNode_t* out, std::size_t* count) {
  if (!count) return cudaErrorInvalidValue;
  if (out)
    for (std::size_t i = 0; i < *count; ++i)
      out[i] =
          i < nodes.size() ? reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(nodes[i])) : nullptr;
  *count = out ? std::min(*count, nodes.size()) : nodes.size();
  return cudaSuccess;
}

} // namespace
} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaKernelNodeParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return add_node("cudaGraphAddKernelNode", node, graph, dependencies, count, cudaGraphNodeTypeKernel,
                  [&] { return kernel_work(*parameters); });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemcpy3DParms* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return add_node("cudaGraphAddMemcpyNode", node, graph, dependencies, count, cudaGraphNodeTypeMemcpy, [&] {
    return [copied = *parameters] { return cudaMemcpy3DAsync(&copied, cudaStreamPerThread); };
  });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count, void* destination,
                                     const void* source, size_t size, cudaMemcpyKind kind) {
  return add_node("cudaGraphAddMemcpyNode1D", node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
                  [&] { return memcpy_work(destination, source, size, kind); });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemsetParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return add_node("cudaGraphAddMemsetNode", node, graph, dependencies, count, cudaGraphNodeTypeMemset,
                  [&] { return memset_work(*parameters); });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, size_t count,
                                 const cudaHostNodeParams* parameters) {
  if (!parameters || !parameters->fn) return remember(cudaErrorInvalidValue);
  return add_node("cudaGraphAddHostNode", node, graph, dependencies, count, cudaGraphNodeTypeHost,
                  [&] { return host_work(*parameters); });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t count, cudaGraph_t child) {
  return add_node("cudaGraphAddChildGraphNode", node, graph, dependencies, count, cudaGraphNodeTypeGraph,
                  [&] {
                    if (graph_of(child).has_memory_nodes())
                      throw Refusal(cudaErrorNotSupported, "the child graph allocates memory");
                    if (graph_of(child).has_conditions())
                      throw Refusal(cudaErrorNotSupported, "the child graph has conditional nodes");
                    return [steps = steps_of(graph_of(child))] { return run_steps(steps); };
                  });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t count) {
  return add_node("cudaGraphAddEmptyNode", node, graph, dependencies, count, cudaGraphNodeTypeEmpty,
                  [] { return Work(); });
}

// Of any kind, by the function for that kind.
#if CUDART_VERSION >= 13000
cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData*, size_t count, cudaGraphNodeParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  switch (parameters->type) {
  case cudaGraphNodeTypeEmpty:
    return cudaGraphAddEmptyNode(node, graph, dependencies, count);
  case cudaGraphNodeTypeKernel: {
    const auto& given = parameters->kernel;
    cudaKernelNodeParams kernel{};
    kernel.func = given.func, kernel.gridDim = given.gridDim, kernel.blockDim = given.blockDim;
    kernel.sharedMemBytes = given.sharedMemBytes;
    kernel.kernelParams = given.kernelParams, kernel.extra = given.extra;
    return cudaGraphAddKernelNode(node, graph, dependencies, count, &kernel);
  }
  case cudaGraphNodeTypeMemcpy:
    return cudaGraphAddMemcpyNode(node, graph, dependencies, count, &parameters->memcpy.copyParams);
  case cudaGraphNodeTypeMemset: {
    const auto& given = parameters->memset;
    cudaMemsetParams memset{};
    memset.dst = given.dst, memset.pitch = given.pitch, memset.value = given.value;
    memset.elementSize = given.elementSize, memset.width = given.width, memset.height = given.height;
    return cudaGraphAddMemsetNode(node, graph, dependencies, count, &memset);
  }
  case cudaGraphNodeTypeHost: {
    cudaHostNodeParams host{};
    host.fn = parameters->host.fn, host.userData = parameters->host.userData;
    return cudaGraphAddHostNode(node, graph, dependencies, count, &host);
  }
  case cudaGraphNodeTypeGraph:
    return cudaGraphAddChildGraphNode(node, graph, dependencies, count, parameters->graph.graph);
  case cudaGraphNodeTypeMemAlloc: {
    cudaMemAllocNodeParams memory{};
    memory.poolProps = parameters->alloc.poolProps, memory.bytesize = parameters->alloc.bytesize;
    memory.accessDescs = parameters->alloc.accessDescs;
    memory.accessDescCount = parameters->alloc.accessDescCount;
    const cudaError_t error = cudaGraphAddMemAllocNode(node, graph, dependencies, count, &memory);
    parameters->alloc.dptr = memory.dptr;
    return error;
  }
  case cudaGraphNodeTypeMemFree:
    return cudaGraphAddMemFreeNode(node, graph, dependencies, count, parameters->free.dptr);
  case cudaGraphNodeTypeConditional: {
    auto& given = parameters->conditional;
    return with_table("cudaGraphAddNode", [&](GraphTable& table) {
      if (!node) return cudaErrorInvalidValue;
      auto condition = std::make_shared<Condition>(given.handle, given.type, given.size);
      GraphNode* const added =
          table.graph(graph).add(parameters->type, Work(), nodes_behind(dependencies, count));
      given.phGraph_out = const_cast<cudaGraph_t*>(condition->graphs().data());
      added->condition = std::move(condition);
      *node = reinterpret_cast<cudaGraphNode_t>(added);
      return cudaSuccess;
    });
  }
  default:
    return entry("cudaGraphAddNode", []() -> cudaError_t {
      throw Refusal(cudaErrorNotSupported, "nodes of events and of semaphores are not supported");
    });
  }
}
#endif

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData*, size_t count) {
#else
cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t count) {
#endif
  return with_table("cudaGraphAddDependencies", [&](GraphTable& table) {
    if (count && (!from || !to)) return cudaErrorInvalidValue;
    Graph& graph = table.graph(handle);
    for (size_t i = 0; i < count; ++i) {
      GraphNode& before = table.node(from[i]);
      GraphNode& after = table.node(to[i]);
      if (!graph.contains(&before) || !graph.contains(&after)) return cudaErrorInvalidValue;
      after.dependencies.push_back(&before);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return with_table("cudaGraphGetNodes", [&](GraphTable& table) {
    std::vector<const GraphNode*> all;
    for (const auto& node : table.graph(graph).nodes) all.push_back(node.get());
    return list_nodes(all, nodes, count);
  });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return with_table("cudaGraphGetRootNodes", [&](GraphTable& table) {
    std::vector<const GraphNode*> roots;
    for (const auto& node : table.graph(graph).nodes)
      if (node->dependencies.empty()) roots.push_back(node.get());
    return list_nodes(roots, nodes, count);
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return with_table("cudaGraphNodeGetType", [&](GraphTable& table) {
    if (!type) return cudaErrorInvalidValue;
    *type = table.node(node).type;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t handle, const cudaKernelNodeParams* parameters) {
  return with_table("cudaGraphKernelNodeSetParams", [&](GraphTable& table) {
    GraphNode& node = table.node(handle);
    if (!parameters || node.type != cudaGraphNodeTypeKernel) return cudaErrorInvalidValue;
    node.work = kernel_work(*parameters);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t handle, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return with_table("cudaGraphExecKernelNodeSetParams", [&](GraphTable& table) {
    auto wanted = reinterpret_cast<const GraphNode*>(node);
    for (auto& step : table.executable(handle).steps)
      if (parameters && step.node == wanted && step.type == cudaGraphNodeTypeKernel) {
        step.work = kernel_work(*parameters);
        return cudaSuccess;
      }
    return cudaErrorInvalidValue;
  });
}
}
