// The nodes of a graph: adding them, what depends on what, and taking them away.
#include "runtime/graphs/conditions.hpp"
#include "runtime/graphs/graph_table.hpp"
#include "runtime/graphs/graph_work.hpp"

#include <algorithm>

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
  return add_node("cudaGraphAddMemcpyNode", node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
                  [&] { return copy_work(*parameters); });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count, void* destination,
                                     const void* source, size_t size, cudaMemcpyKind kind) {
  return add_node("cudaGraphAddMemcpyNode1D", node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
                  [&] { return copy_work(destination, source, size, kind); });
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, size_t count,
                                           const void* symbol, const void* source, size_t size, size_t offset,
                                           cudaMemcpyKind kind) {
  return add_node("cudaGraphAddMemcpyNodeToSymbol", node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
                  [&] { return copy_to_symbol_work(symbol, source, size, offset, kind); });
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, size_t count,
                                             void* destination, const void* symbol, size_t size,
                                             size_t offset, cudaMemcpyKind kind) {
  return add_node("cudaGraphAddMemcpyNodeFromSymbol", node, graph, dependencies, count,
                  cudaGraphNodeTypeMemcpy,
                  [&] { return copy_from_symbol_work(destination, symbol, size, offset, kind); });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemsetParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return add_node("cudaGraphAddMemsetNode", node, graph, dependencies, count, cudaGraphNodeTypeMemset,
                  [&] { return fill_work(*parameters); });
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
  return with_table("cudaGraphAddChildGraphNode", [&](GraphTable& table) {
    if (!node) return cudaErrorInvalidValue;
    auto copy = std::make_shared<ChildGraph>(table.graph(child));
    GraphNode* const added =
        table.graph(graph).add(cudaGraphNodeTypeGraph, Work(), nodes_behind(dependencies, count));
    added->child = std::move(copy);
    *node = reinterpret_cast<cudaGraphNode_t>(added);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* dependencies, size_t count,
                                        cudaEvent_t event) {
  return add_node("cudaGraphAddEventRecordNode", node, graph, dependencies, count,
                  cudaGraphNodeTypeEventRecord, [&] { return event_work(event); });
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies, size_t count, cudaEvent_t event) {
  return add_node("cudaGraphAddEventWaitNode", node, graph, dependencies, count, cudaGraphNodeTypeWaitEvent,
                  [&] { return event_work(event); });
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
  case cudaGraphNodeTypeKernel:
  case cudaGraphNodeTypeMemcpy:
  case cudaGraphNodeTypeMemset:
  case cudaGraphNodeTypeHost:
  case cudaGraphNodeTypeEventRecord:
  case cudaGraphNodeTypeWaitEvent:
    return add_node("cudaGraphAddNode", node, graph, dependencies, count, parameters->type,
                    [&] { return work_of(*parameters); });
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
      throw Refusal(cudaErrorNotSupported, "nodes of semaphores are not supported");
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

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData*, size_t count) {
#else
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, size_t count) {
#endif
  return with_table("cudaGraphRemoveDependencies", [&](GraphTable& table) {
    if (count && (!from || !to)) return cudaErrorInvalidValue;
    const Graph& graph = table.graph(handle);
    for (size_t i = 0; i < count; ++i) {
      GraphNode& after = table.node(to[i]);
      const auto found = std::ranges::find(after.dependencies, &table.node(from[i]));
      if (!graph.contains(&after) || found == after.dependencies.end()) return cudaErrorInvalidValue;
      after.dependencies.erase(found);
    }
    return cudaSuccess;
  });
}

// With what depends on it, and what it depends on.
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
  return with_table("cudaGraphDestroyNode", [&](GraphTable& table) {
    const GraphNode* const node = &table.node(handle);
    if (node->memory) throw Refusal(cudaErrorNotSupported, "a node that allocates or frees memory stays");
    for (const auto& [key, graph] : table.graphs) {
      if (!graph->contains(node)) continue;
      for (const auto& other : graph->nodes)
        std::erase_if(other->dependencies, [&](const GraphNode* each) { return each == node; });
      std::erase_if(graph->nodes, [&](const auto& each) { return each.get() == node; });
      break;
    }
    return cudaSuccess;
  });
}

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* out, cudaGraphEdgeData* edges,
                                         size_t* count) {
  if (edges) return remember(cudaErrorNotSupported); // no edge has data
#else
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* count) {
#endif
  return with_table("cudaGraphNodeGetDependencies", [&](GraphTable& table) {
    const auto& all = table.node(node).dependencies;
    return list_nodes({all.begin(), all.end()}, out, count);
  });
}

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* out,
                                           cudaGraphEdgeData* edges, size_t* count) {
  if (edges) return remember(cudaErrorNotSupported);
#else
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* count) {
#endif
  return with_table("cudaGraphNodeGetDependentNodes", [&](GraphTable& table) {
    GraphNode* const wanted = &table.node(node);
    std::vector<const GraphNode*> dependent;
    for (const auto& [key, graph] : table.graphs)
      for (const auto& each : graph->nodes)
        if (std::ranges::find(each->dependencies, wanted) != each->dependencies.end())
          dependent.push_back(each.get());
    return list_nodes(dependent, out, count);
  });
}

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edges, size_t* count) {
  if (edges) return remember(cudaErrorNotSupported);
#else
cudaError_t cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
#endif
  return with_table("cudaGraphGetEdges", [&](GraphTable& table) {
    std::vector<const GraphNode*> begins, ends;
    for (const auto& node : table.graph(handle).nodes)
      for (const GraphNode* before : node->dependencies) begins.push_back(before), ends.push_back(node.get());
    if ((from == nullptr) != (to == nullptr) || !count) return cudaErrorInvalidValue;
    std::size_t listed = *count;
    if (const cudaError_t error = list_nodes(begins, from, &listed); error != cudaSuccess) return error;
    return list_nodes(ends, to, count);
  });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* found, cudaGraphNode_t original, cudaGraph_t clone) {
  return with_table("cudaGraphNodeFindInClone", [&](GraphTable& table) {
    if (!found) return cudaErrorInvalidValue;
    const GraphNode* const wanted = &table.node(original);
    for (const auto& node : table.graph(clone).nodes)
      if (node->original == wanted) {
        *found = reinterpret_cast<cudaGraphNode_t>(node.get());
        return cudaSuccess;
      }
    throw Refusal(cudaErrorInvalidValue, "the graph is no clone of the node's");
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
}
