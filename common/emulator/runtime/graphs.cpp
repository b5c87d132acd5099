#include "graphs.hpp"

#include "errors.hpp"
#include "launch.hpp"
#include "memory_check.hpp"
#include "runtime.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <set>

namespace warpfold::runtime {

GraphNode* Graph::add(cudaGraphNodeType type, Work work, std::vector<GraphNode*> dependencies) {
  for (const GraphNode* dependency : dependencies)
    if (!contains(dependency))
      throw Refusal(cudaErrorInvalidValue, "a dependency is not a node of this graph");
  auto node = std::make_unique<GraphNode>();
  node->type = type;
  node->work = std::move(work);
  node->dependencies = std::move(dependencies);
  return nodes.emplace_back(std::move(node)).get();
}

bool Graph::contains(const GraphNode* node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& known) { return known.get() == node; });
}

namespace {

enum class Mark { none, entered, done };

void visit(const GraphNode* node, std::map<const GraphNode*, Mark>& marks,
           std::vector<const GraphNode*>& order) {
  Mark& mark = marks[node];
  if (mark == Mark::done) return;
  if (mark == Mark::entered) throw Refusal(cudaErrorInvalidValue, "the graph's dependencies form a circle");
  mark = Mark::entered;
  for (const GraphNode* dependency : node->dependencies) visit(dependency, marks, order);
  marks[node] = Mark::done;
  order.push_back(node);
}

} // namespace

std::vector<const GraphNode*> in_order(const Graph& graph) {
  std::map<const GraphNode*, Mark> marks;
  std::vector<const GraphNode*> order;
  for (const auto& node : graph.nodes) visit(node.get(), marks, order);
  return order;
}

namespace {

// A graph made ready to run: its nodes' work in one legal order. What is changed by
// cudaGraphExecKernelNodeSetParams is found by the node that it came from.
struct ExecutableGraph {
  struct Step {
    const GraphNode* node;
    cudaGraphNodeType type;
    Work work;
  };
  std::vector<Step> steps;
};

// Graphs that captures and the program made, and those made ready. Lock `mutex` around every use.
struct GraphTable {
  std::recursive_mutex mutex;
  std::map<const void*, std::unique_ptr<Graph>> graphs;
  std::map<const void*, std::unique_ptr<ExecutableGraph>> executables;

  static GraphTable& get() {
    static GraphTable& table = *new GraphTable;
    return table;
  }
  Graph& graph(cudaGraph_t handle) {
    auto found = graphs.find(handle);
    if (found == graphs.end())
      throw Refusal(cudaErrorInvalidValue, "not a graph, or one that is destroyed already");
    return *found->second;
  }
  ExecutableGraph& executable(cudaGraphExec_t handle) {
    auto found = executables.find(handle);
    if (found == executables.end())
      throw Refusal(cudaErrorInvalidValue, "not an executable graph, or one that is destroyed already");
    return *found->second;
  }
  GraphNode& node(cudaGraphNode_t handle) {
    auto wanted = reinterpret_cast<const GraphNode*>(handle);
    for (const auto& [key, graph] : graphs)
      for (const auto& node : graph->nodes)
        if (node.get() == wanted) return *node;
    throw Refusal(cudaErrorInvalidValue, "not a node of a live graph");
  }
};

template <typename Body>
cudaError_t with_table(const char* caller, Body body) {
  return entry(caller, [&] {
    GraphTable& table = GraphTable::get();
    std::lock_guard lock(table.mutex);
    return body(table);
  });
}

// Adds a node on behalf of the program. `node` gets its handle.
template <typename MakeWork>
cudaError_t add_node(const char* caller, cudaGraphNode_t* node, cudaGraph_t graph,
                     const cudaGraphNode_t* dependencies, std::size_t count, cudaGraphNodeType type,
                     MakeWork make_work) {
  return with_table(caller, [&](GraphTable& table) {
    if (!node || (count && !dependencies)) return cudaErrorInvalidValue;
    auto first = reinterpret_cast<GraphNode* const*>(dependencies);
    *node = reinterpret_cast<cudaGraphNode_t>(table.graph(graph).add(
        type, make_work(), count ? std::vector(first, first + count) : std::vector<GraphNode*>{}));
    return cudaSuccess;
  });
}

// A launch whose arguments are copied now, as CUDA promises for kernel nodes.
Work kernel_work(const cudaKernelNodeParams& parameters) {
  if (parameters.extra)
    throw Refusal(cudaErrorNotSupported, "kernel arguments in `extra`: pass kernelParams");
  machine::LaunchShape shape{{parameters.gridDim.x, parameters.gridDim.y, parameters.gridDim.z},
                             {parameters.blockDim.x, parameters.blockDim.y, parameters.blockDim.z},
                             parameters.sharedMemBytes};
  KernelEntry& kernel = Runtime::get().registry.kernel(parameters.func);
  return [prepared = prepare(kernel, shape, parameters.kernelParams)] { return run(prepared); };
}

// The copy checks its ranges once its turn comes.
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

cudaError_t run_steps(const std::vector<ExecutableGraph::Step>& steps) {
  for (const auto& step : steps)
    if (step.work)
      if (cudaError_t error = step.work(); error != cudaSuccess) return error;
  return cudaSuccess;
}

std::vector<ExecutableGraph::Step> steps_of(const Graph& graph) {
  std::vector<ExecutableGraph::Step> steps;
  for (const GraphNode* node : in_order(graph)) steps.push_back({node, node->type, node->work});
  return steps;
}

cudaError_t instantiate(const char* caller, cudaGraphExec_t* executable, cudaGraph_t graph) {
  return with_table(caller, [&](GraphTable& table) {
    if (!executable) return cudaErrorInvalidValue;
    auto made = std::make_unique<ExecutableGraph>();
    made->steps = steps_of(table.graph(graph));
    *executable = reinterpret_cast<cudaGraphExec_t>(made.get());
    table.executables[made.get()] = std::move(made);
    return cudaSuccess;
  });
}

// Copies handles out as the query functions do: with no array, only the count.
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

cudaGraph_t keep(std::unique_ptr<Graph> graph) {
  GraphTable& table = GraphTable::get();
  std::lock_guard lock(table.mutex);
  Graph* kept = graph.get();
  table.graphs[kept] = std::move(graph);
  return reinterpret_cast<cudaGraph_t>(kept);
}

Graph& graph_of(cudaGraph_t handle) {
  GraphTable& table = GraphTable::get();
  std::lock_guard lock(table.mutex);
  return table.graph(handle);
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return entry("cudaGraphCreate", [&] {
    if (!graph || flags != 0) return cudaErrorInvalidValue;
    *graph = keep(std::make_unique<Graph>());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return with_table("cudaGraphDestroy", [&](GraphTable& table) {
    table.graph(graph);
    table.graphs.erase(graph);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return with_table("cudaGraphClone", [&](GraphTable& table) {
    if (!clone) return cudaErrorInvalidValue;
    auto made = std::make_unique<Graph>();
    std::map<const GraphNode*, GraphNode*> copy_of;
    for (const GraphNode* node : in_order(table.graph(original))) {
      std::vector<GraphNode*> dependencies;
      for (const GraphNode* dependency : node->dependencies) dependencies.push_back(copy_of.at(dependency));
      copy_of[node] = made->add(node->type, node->work, std::move(dependencies));
    }
    *clone = keep(std::move(made));
    return cudaSuccess;
  });
}

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
                  [&] { return [steps = steps_of(graph_of(child))] { return run_steps(steps); }; });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t count) {
  return add_node("cudaGraphAddEmptyNode", node, graph, dependencies, count, cudaGraphNodeTypeEmpty,
                  [] { return Work(); });
}

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

#if CUDART_VERSION >= 12000
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return instantiate("cudaGraphInstantiate", executable, graph);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  const cudaError_t error = instantiate("cudaGraphInstantiateWithParams", executable, graph);
  parameters->errNode_out = nullptr;
  parameters->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return error;
}

// Takes the other graph's work over where the two have the same nodes in the same order.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  return with_table("cudaGraphExecUpdate", [&](GraphTable& table) {
    ExecutableGraph& executable = table.executable(handle);
    auto steps = steps_of(table.graph(graph));
    const bool same = std::equal(steps.begin(), steps.end(), executable.steps.begin(), executable.steps.end(),
                                 [](const auto& one, const auto& other) { return one.type == other.type; });
    if (info)
      *info = {same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged, nullptr, nullptr};
    if (!same) return cudaErrorGraphExecUpdateFailure;
    for (std::size_t i = 0; i < steps.size(); ++i) executable.steps[i].work = std::move(steps[i].work);
    return cudaSuccess;
  });
}
#endif

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
  return instantiate("cudaGraphInstantiateWithFlags", executable, graph);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream) {
  return entry("cudaGraphLaunch", [&] {
    std::vector<ExecutableGraph::Step> steps;
    {
      GraphTable& table = GraphTable::get();
      std::lock_guard lock(table.mutex);
      steps = table.executable(handle).steps;
    }
    return submit(stream, cudaGraphNodeTypeGraph, [steps = std::move(steps)] { return run_steps(steps); });
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream) {
  return with_table("cudaGraphUpload", [&](GraphTable& table) {
    table.executable(handle);
    check_stream(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return with_table("cudaGraphExecDestroy", [&](GraphTable& table) {
    table.executable(handle);
    table.executables.erase(handle);
    return cudaSuccess;
  });
}
}
