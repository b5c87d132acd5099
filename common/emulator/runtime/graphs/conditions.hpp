// Conditional nodes: which of their graphs run, and how often, depends on a value that a kernel of the graph
// sets (CUDA Programming Guide, "Conditional Graph Nodes").
#pragma once

#include "runtime/cuda_api.hpp"
#include "runtime/streams/streams.hpp"

#include <vector>

namespace warpfold::runtime {

// What such a node does. Its graphs live as long as it does.
class Condition {
public:
  // Throws Refusal if the handle is of no condition, or another node uses it, and if there cannot be so many
  // graphs.
  Condition(cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type, unsigned size);
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  const std::vector<cudaGraph_t>& graphs() const { return graphs_; }
  cudaGraphConditionalHandle handle() const { return handle_; }
  Work work() const; // with its graphs as they are now

private:
  cudaGraphConditionalHandle handle_;
  cudaGraphConditionalNodeType type_;
  std::vector<cudaGraph_t> graphs_;
};

// False if there is no such handle.
bool set_condition(cudaGraphConditionalHandle handle, unsigned value);
// At a launch of the graph: the condition has its first value again, if it was made so.
void restore_condition(cudaGraphConditionalHandle handle);

} // namespace warpfold::runtime
