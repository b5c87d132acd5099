// What nodes do: asking for it and changing it, in a graph and in one that is ready to run.
#include "runtime/graphs/graph_table.hpp"
#include "runtime/graphs/graph_work.hpp"
#include "runtime/launches/launch.hpp"
#include "runtime/runtime.hpp"

namespace warpfold::runtime {
namespace {

template <typename MakeWork>
cudaError_t set_in_graph(const char* caller, cudaGraphNode_t handle, cudaGraphNodeType type,
                         MakeWork make_work) {
  return with_table(caller, [&](GraphTable& table) {
    GraphNode& node = table.node(handle);
    if (node.type != type) return cudaErrorInvalidValue;
    node.work = make_work();
    return cudaSuccess;
  });
}

ExecutableGraph::Step* find_step(std::vector<ExecutableGraph::Step>& steps, const GraphNode* node) {
  for (auto& step : steps) {
    if (step.node == node) return &step;
    if (ExecutableGraph::Step* const inner = find_step(step.inner, node)) return inner;
  }
  return nullptr;
}

ExecutableGraph::Step& step_of(GraphTable& table, cudaGraphExec_t executable, cudaGraphNode_t node) {
  auto& steps = table.executable(executable).steps;
  if (ExecutableGraph::Step* const step = find_step(steps, reinterpret_cast<const GraphNode*>(node)))
    return *step;
  throw Refusal(cudaErrorInvalidValue, "the executable graph was not made of a graph with this node");
}

template <typename MakeWork>
cudaError_t set_in_executable(const char* caller, cudaGraphExec_t executable, cudaGraphNode_t node,
                              cudaGraphNodeType type, MakeWork make_work) {
  return with_table(caller, [&](GraphTable& table) {
    ExecutableGraph::Step& step = step_of(table, executable, node);
    if (step.type != type) return cudaErrorInvalidValue;
    step.work = make_work();
    return cudaSuccess;
  });
}

// A node that was captured does what the call did that was captured, and of most calls no parameters are
// kept.
template <typename NodeWork>
const NodeWork& work_in(const GraphNode& node) {
  const auto* const work = node.work.target<NodeWork>();
  if (!work)
    throw Refusal(cudaErrorNotSupported, "the parameters of this node are not known, since it was captured");
  return *work;
}

template <typename NodeWork, typename Parameters>
cudaError_t get(const char* caller, cudaGraphNode_t handle, cudaGraphNodeType type, Parameters* out) {
  return with_table(caller, [&](GraphTable& table) {
    const GraphNode& node = table.node(handle);
    if (!out || node.type != type) return cudaErrorInvalidValue;
    *out = work_in<NodeWork>(node).parameters;
    return cudaSuccess;
  });
}

cudaError_t get_event(const char* caller, cudaGraphNode_t handle, cudaGraphNodeType type, cudaEvent_t* out) {
  return with_table(caller, [&](GraphTable& table) {
    const GraphNode& node = table.node(handle);
    if (!out || node.type != type) return cudaErrorInvalidValue;
    *out = work_in<EventWork>(node).event;
    return cudaSuccess;
  });
}

} // namespace
} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t handle, cudaKernelNodeParams* parameters) {
  return with_table("cudaGraphKernelNodeGetParams", [&](GraphTable& table) {
    GraphNode& node = table.node(handle);
    if (!parameters || node.type != cudaGraphNodeTypeKernel) return cudaErrorInvalidValue;
    const PreparedLaunch& launch = work_in<LaunchWork>(node).launch;
    const auto dim3_of = [](const warpfold::machine::Dim3& size) { return dim3(size.x, size.y, size.z); };
    node.arguments.clear();
    for (const warpfold::machine::Parameter& each : launch.entry->kernel->parameters())
      node.arguments.push_back(const_cast<std::byte*>(launch.parameters.data() + each.offset));
    *parameters = {};
    parameters->func = const_cast<void*>(launch.entry->host_function);
    parameters->gridDim = dim3_of(launch.shape.grid), parameters->blockDim = dim3_of(launch.shape.block);
    parameters->sharedMemBytes = launch.shape.dynamic_shared;
    parameters->kernelParams = node.arguments.data();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return set_in_graph("cudaGraphKernelNodeSetParams", node, cudaGraphNodeTypeKernel,
                      [&] { return kernel_work(*parameters); });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return set_in_executable("cudaGraphExecKernelNodeSetParams", executable, node, cudaGraphNodeTypeKernel,
                           [&] { return kernel_work(*parameters); });
}

// Those that decide how a kernel runs are its launch's.
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t handle, cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue* value) {
  return with_table("cudaGraphKernelNodeGetAttribute", [&](GraphTable& table) {
    const GraphNode& node = table.node(handle);
    if (!value || node.type != cudaGraphNodeTypeKernel) return cudaErrorInvalidValue;
    const warpfold::machine::LaunchShape& shape = work_in<LaunchWork>(node).launch.shape;
    *value = node.attributes.get(attribute);
    if (attribute == cudaLaunchAttributeCooperative) value->cooperative = shape.cooperative;
    if (attribute == cudaLaunchAttributeClusterDimension)
      value->clusterDim = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
    return cudaSuccess;
  });
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t handle, cudaLaunchAttributeID attribute,
                                            const cudaLaunchAttributeValue* value) {
  return with_table("cudaGraphKernelNodeSetAttribute", [&](GraphTable& table) {
    GraphNode& node = table.node(handle);
    if (!value || node.type != cudaGraphNodeTypeKernel) return cudaErrorInvalidValue;
    if (attribute == cudaLaunchAttributeCooperative || attribute == cudaLaunchAttributeClusterDimension)
      throw Refusal(cudaErrorNotSupported,
                    "a node's launch stays cooperative or in clusters, or not: capture the launch instead");
    node.attributes.set(attribute, *value);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t destination, cudaGraphNode_t source) {
  return with_table("cudaGraphKernelNodeCopyAttributes", [&](GraphTable& table) {
    GraphNode &to = table.node(destination), &from = table.node(source);
    if (to.type != cudaGraphNodeTypeKernel || from.type != cudaGraphNodeTypeKernel)
      return cudaErrorInvalidValue;
    to.attributes = from.attributes;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* parameters) {
  return get<CopyWork>("cudaGraphMemcpyNodeGetParams", node, cudaGraphNodeTypeMemcpy, parameters);
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return set_in_graph("cudaGraphMemcpyNodeSetParams", node, cudaGraphNodeTypeMemcpy,
                      [&] { return copy_work(*parameters); });
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* destination, const void* source,
                                           size_t size, cudaMemcpyKind kind) {
  return set_in_graph("cudaGraphMemcpyNodeSetParams1D", node, cudaGraphNodeTypeMemcpy,
                      [&] { return copy_work(destination, source, size, kind); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return set_in_executable("cudaGraphExecMemcpyNodeSetParams", executable, node, cudaGraphNodeTypeMemcpy,
                           [&] { return copy_work(*parameters); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               void* destination, const void* source, size_t size,
                                               cudaMemcpyKind kind) {
  return set_in_executable("cudaGraphExecMemcpyNodeSetParams1D", executable, node, cudaGraphNodeTypeMemcpy,
                           [&] { return copy_work(destination, source, size, kind); });
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* source,
                                                 size_t size, size_t offset, cudaMemcpyKind kind) {
  return set_in_graph("cudaGraphMemcpyNodeSetParamsToSymbol", node, cudaGraphNodeTypeMemcpy,
                      [&] { return copy_to_symbol_work(symbol, source, size, offset, kind); });
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* destination,
                                                   const void* symbol, size_t size, size_t offset,
                                                   cudaMemcpyKind kind) {
  return set_in_graph("cudaGraphMemcpyNodeSetParamsFromSymbol", node, cudaGraphNodeTypeMemcpy,
                      [&] { return copy_from_symbol_work(destination, symbol, size, offset, kind); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                     const void* symbol, const void* source, size_t size,
                                                     size_t offset, cudaMemcpyKind kind) {
  return set_in_executable("cudaGraphExecMemcpyNodeSetParamsToSymbol", executable, node,
                           cudaGraphNodeTypeMemcpy,
                           [&] { return copy_to_symbol_work(symbol, source, size, offset, kind); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                       void* destination, const void* symbol, size_t size,
                                                       size_t offset, cudaMemcpyKind kind) {
  return set_in_executable("cudaGraphExecMemcpyNodeSetParamsFromSymbol", executable, node,
                           cudaGraphNodeTypeMemcpy,
                           [&] { return copy_from_symbol_work(destination, symbol, size, offset, kind); });
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                 cudaGraph_t child) {
  return with_table("cudaGraphExecChildGraphNodeSetParams", [&](GraphTable& table) {
    ExecutableGraph::Step& step = step_of(table, executable, node);
    if (step.type != cudaGraphNodeTypeGraph) return cudaErrorInvalidValue;
    step.inner = steps_of(*copy_of(table.graph(child)));
    return cudaSuccess;
  });
}

// Changes to it are in what is instantiated after them.
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t handle, cudaGraph_t* graph) {
  return with_table("cudaGraphChildGraphNodeGetGraph", [&](GraphTable& table) {
    const GraphNode& node = table.node(handle);
    if (!graph || node.type != cudaGraphNodeTypeGraph) return cudaErrorInvalidValue;
    if (!node.child)
      throw Refusal(cudaErrorNotSupported, "the graph of this node is not known, since it was captured");
    *graph = node.child->handle;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return get_event("cudaGraphEventRecordNodeGetEvent", node, cudaGraphNodeTypeEventRecord, event);
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return get_event("cudaGraphEventWaitNodeGetEvent", node, cudaGraphNodeTypeWaitEvent, event);
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set_in_graph("cudaGraphEventRecordNodeSetEvent", node, cudaGraphNodeTypeEventRecord,
                      [&] { return event_work(event); });
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set_in_graph("cudaGraphEventWaitNodeSetEvent", node, cudaGraphNodeTypeWaitEvent,
                      [&] { return event_work(event); });
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                 cudaEvent_t event) {
  return set_in_executable("cudaGraphExecEventRecordNodeSetEvent", executable, node,
                           cudaGraphNodeTypeEventRecord, [&] { return event_work(event); });
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               cudaEvent_t event) {
  return set_in_executable("cudaGraphExecEventWaitNodeSetEvent", executable, node, cudaGraphNodeTypeWaitEvent,
                           [&] { return event_work(event); });
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* parameters) {
  return get<FillWork>("cudaGraphMemsetNodeGetParams", node, cudaGraphNodeTypeMemset, parameters);
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return set_in_graph("cudaGraphMemsetNodeSetParams", node, cudaGraphNodeTypeMemset,
                      [&] { return fill_work(*parameters); });
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemsetParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return set_in_executable("cudaGraphExecMemsetNodeSetParams", executable, node, cudaGraphNodeTypeMemset,
                           [&] { return fill_work(*parameters); });
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* parameters) {
  return get<HostWork>("cudaGraphHostNodeGetParams", node, cudaGraphNodeTypeHost, parameters);
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return set_in_graph("cudaGraphHostNodeSetParams", node, cudaGraphNodeTypeHost,
                      [&] { return host_work(*parameters); });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const cudaHostNodeParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return set_in_executable("cudaGraphExecHostNodeSetParams", executable, node, cudaGraphNodeTypeHost,
                           [&] { return host_work(*parameters); });
}

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return set_in_graph("cudaGraphNodeSetParams", node, parameters->type, [&] { return work_of(*parameters); });
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                       cudaGraphNodeParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  return set_in_executable("cudaGraphExecNodeSetParams", executable, node, parameters->type,
                           [&] { return work_of(*parameters); });
}
#endif

// A node that is not enabled does nothing, and what depends on it runs.
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned enabled) {
  return with_table("cudaGraphNodeSetEnabled", [&](GraphTable& table) {
    ExecutableGraph::Step& step = step_of(table, executable, node);
    if (step.type != cudaGraphNodeTypeKernel && step.type != cudaGraphNodeTypeMemcpy &&
        step.type != cudaGraphNodeTypeMemset)
      throw Refusal(cudaErrorInvalidValue, "only kernels, copies and memsets can be left out");
    step.enabled = enabled != 0;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned* enabled) {
  return with_table("cudaGraphNodeGetEnabled", [&](GraphTable& table) {
    if (!enabled) return cudaErrorInvalidValue;
    *enabled = step_of(table, executable, node).enabled;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
  return with_table("cudaGraphExecGetFlags", [&](GraphTable& table) {
    if (!flags) return cudaErrorInvalidValue;
    *flags = table.executable(executable).flags;
    return cudaSuccess;
  });
}
}
