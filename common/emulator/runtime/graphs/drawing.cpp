// A graph as text for Graphviz: its nodes with their kinds, kernels with their names and sizes, and its
// edges. NVIDIA does not say what its own text looks like.
#include "runtime/graphs/conditions.hpp"
#include "runtime/graphs/graph_table.hpp"
#include "runtime/launches/launch.hpp"

#include <fmt/format.h>
#include <fstream>

namespace warpfold::runtime {
namespace {

std::string_view name_of(cudaGraphNodeType type) {
  switch (type) {
  case cudaGraphNodeTypeKernel:
    return "kernel";
  case cudaGraphNodeTypeMemcpy:
    return "memcpy";
  case cudaGraphNodeTypeMemset:
    return "memset";
  case cudaGraphNodeTypeHost:
    return "host function";
  case cudaGraphNodeTypeGraph:
    return "child graph";
  case cudaGraphNodeTypeEmpty:
    return "empty";
  case cudaGraphNodeTypeWaitEvent:
    return "wait for event";
  case cudaGraphNodeTypeEventRecord:
    return "record event";
  case cudaGraphNodeTypeMemAlloc:
    return "allocate memory";
  case cudaGraphNodeTypeMemFree:
    return "free memory";
  default:
    return "conditional";
  }
}

std::string label_of(const GraphNode& node) {
  std::string label(name_of(node.type));
  if (const auto* const launch = node.work.target<LaunchWork>()) {
    const auto& [grid, block] = std::pair(launch->launch.shape.grid, launch->launch.shape.block);
    label += fmt::format(" {} <<<({}, {}, {}), ({}, {}, {})>>>", launch->launch.entry->kernel->name(), grid.x,
                         grid.y, grid.z, block.x, block.y, block.z);
  }
  return label;
}

// `number`: of the next node or graph in the drawing.
void draw(std::ostream& out, const Graph& graph, unsigned& number) {
  std::map<const GraphNode*, unsigned> numbers;
  const auto draw_inner = [&](cudaGraph_t inner, unsigned of) {
    out << fmt::format("subgraph cluster_{} {{\nlabel=\"graph of node {}\";\n", number++, of);
    draw(out, graph_of(inner), number);
    out << "}\n";
  };
  for (const auto& node : graph.nodes) {
    const unsigned own = numbers[node.get()] = number++;
    out << fmt::format("node_{} [shape=box, label=\"{}: {}\"];\n", own, own, label_of(*node));
    if (node->child) draw_inner(node->child->handle, own);
    if (node->condition)
      for (const cudaGraph_t inner : node->condition->graphs()) draw_inner(inner, own);
  }
  for (const auto& node : graph.nodes)
    for (const GraphNode* before : node->dependencies)
      out << fmt::format("node_{} -> node_{};\n", numbers.at(before), numbers.at(node.get()));
}

} // namespace
} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
  return with_table("cudaGraphDebugDotPrint", [&](GraphTable& table) {
    if (!path) return cudaErrorInvalidValue;
    std::ofstream out(path);
    out << "digraph dot {\n";
    unsigned number = 0;
    draw(out, table.graph(graph), number);
    out << "}\n";
    out.close();
    if (!out) throw Refusal(cudaErrorOperatingSystem, fmt::format("{} cannot be written", path));
    return cudaSuccess;
  });
}
