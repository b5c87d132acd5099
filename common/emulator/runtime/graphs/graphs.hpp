// Graphs, which keep work to be done later, and the capture of streams into them.
#pragma once

#include "runtime/graphs/user_objects.hpp"
#include "runtime/streams/streams.hpp"

#include <memory>
#include <thread>
#include <vector>

namespace warpfold::runtime {

class Condition;
class GraphMemory;
struct ChildGraph;

struct GraphNode {
  cudaGraphNodeType type{};
  Work work;                            // empty for a node that does nothing
  std::vector<GraphNode*> dependencies; // nodes of the same graph
  std::shared_ptr<GraphMemory> memory;  // that it allocates or frees
  const GraphNode* original = nullptr;  // of a clone: the node that it was made of
  std::vector<void*> arguments;         // of a kernel, as the program was last given them
  Attributes attributes;                // of a kernel
  std::shared_ptr<Condition> condition; // that it depends on; its work is then the condition's
  std::shared_ptr<ChildGraph> child;    // what it does instead of its work
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes; // in the order of their addition
  // Throws Refusal if a dependency is not a node of this graph.
  GraphNode* add(cudaGraphNodeType type, Work work, std::vector<GraphNode*> dependencies);
  bool contains(const GraphNode* node) const;
  bool has_memory_nodes() const;
  bool has_conditions() const;
  std::weak_ptr<const void> instance; // with memory nodes, there may be one at a time
  UserObjects objects;
};

// Hands a graph to the program, and takes one from it. The second throws Refusal if it is not a live graph.
cudaGraph_t keep(std::unique_ptr<Graph> graph);
void discard(Graph* graph);
Graph& graph_of(cudaGraph_t handle);
// Throws Refusal if it has nodes that exist once: those of memory and of conditions.
std::unique_ptr<Graph> copy_of(const Graph& graph);

// A node's own copy of a graph, which the program may change. It lives as long as the node does.
struct ChildGraph {
  const cudaGraph_t handle;
  explicit ChildGraph(const Graph& original) : handle(keep(copy_of(original))) {}
  ~ChildGraph() { discard(reinterpret_cast<Graph*>(handle)); }
  ChildGraph(const ChildGraph&) = delete;
  ChildGraph& operator=(const ChildGraph&) = delete;
};

// The nodes so ordered that each comes after what it depends on. Throws Refusal if they form a cycle.
std::vector<const GraphNode*> in_order(const Graph& graph);

// The nodes that a stream, or an event, comes after within one capture.
struct Capture {
  Graph* graph = nullptr;
  bool is_new = false; // the program did not provide the graph
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode{};
  std::thread::id thread = std::this_thread::get_id(); // that began it
  unsigned long long id = 0;
  bool active = true, invalidated = false;
};

struct CapturePlace {
  std::shared_ptr<Capture> capture; // null: not in a capture
  std::vector<GraphNode*> last;
  bool capturing() const { return capture && capture->active; }
};

} // namespace warpfold::runtime
