// The graphs of the process, and those that are ready to run. Only graphs.cpp and graph_nodes.cpp need to see
// them.
#pragma once

#include "runtime/graphs/graphs.hpp"
#include "runtime/reporting/errors.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace warpfold::runtime {

// A graph made ready to run: its nodes' work in one legal order. cudaGraphExecKernelNodeSetParams
// finds what it changes by the node that it came from.
struct ExecutableGraph {
  struct Step {
    const GraphNode* node;
    cudaGraphNodeType type;
    Work work;
    std::vector<std::size_t> after; // the steps that it depends on
    std::shared_ptr<GraphMemory> memory;
    std::vector<Step> inner; // of a child graph: what it does instead of `work`
    bool enabled = true;
  };
  // What the graph's conditional nodes depend on, and those within them.
  std::vector<unsigned long long> conditions;
  std::vector<Step> steps;
  std::shared_ptr<const void> instance = std::make_shared<int>();
  unsigned long long flags = 0;       // cudaGraphInstantiateFlags
  std::shared_ptr<Event> last_launch; // CUDA lets no two launches of it overlap; null: none yet
  UserObjects objects;
};

// Graphs that captures and the program made, and those that are ready to run. Lock `mutex` around every use.
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
      throw Refusal(cudaErrorInvalidValue, "not a graph, or one that has already been destroyed");
    return *found->second;
  }
  ExecutableGraph& executable(cudaGraphExec_t handle) {
    auto found = executables.find(handle);
    if (found == executables.end())
      throw Refusal(cudaErrorInvalidValue, "not an executable graph, or one that has already been destroyed");
    return *found->second;
  }
  cudaGraphNode_t add_memory_node(cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count,
                                  cudaGraphNodeType type, std::shared_ptr<GraphMemory> memory);
  GraphNode& node(cudaGraphNode_t handle) {
    auto wanted = reinterpret_cast<const GraphNode*>(handle);
    for (const auto& [key, graph] : graphs)
      for (const auto& node : graph->nodes)
        if (node.get() == wanted) return *node;
    throw Refusal(cudaErrorInvalidValue, "not a node of a live graph");
  }
};

// The nodes that a program names. Throws Refusal if it names some and the array is null.
std::vector<GraphNode*> nodes_behind(const cudaGraphNode_t* handles, std::size_t count);

// The body of an entry point, with the table locked.
template <typename Body>
cudaError_t with_table(const char* caller, Body body) {
  return entry(caller, [&] {
    GraphTable& table = GraphTable::get();
    std::lock_guard lock(table.mutex);
    return body(table);
  });
}

// The steps of a graph, in one legal order.
std::vector<ExecutableGraph::Step> steps_of(const Graph& graph);
cudaError_t run_steps(const std::vector<ExecutableGraph::Step>& steps);

} // namespace warpfold::runtime
