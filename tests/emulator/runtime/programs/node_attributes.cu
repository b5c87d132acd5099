// Nodes that copy to and from variables, a child graph that is replaced, and attributes of kernel nodes and
// streams, which a program gets back as it set them.
#include "show.hpp"

__device__ int words[4];

__global__ void doubles() {
  words[threadIdx.x] *= 2;
}

__global__ void negates() {
  words[threadIdx.x] = -words[threadIdx.x];
}

namespace {

int out[4];

void launch(cudaGraphExec_t graph) {
  for (int& each : out) each = 0;
  SHOW(cudaGraphLaunch(graph, nullptr));
  SHOW(cudaDeviceSynchronize());
  for (const int each : out) std::printf(" %d", each);
  std::printf("\n");
}

cudaGraph_t graph_of(void (*kernel)(), cudaGraphNode_t& node) {
  cudaGraph_t graph = nullptr;
  cudaGraphCreate(&graph, 0);
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(kernel);
  parameters.gridDim = dim3(1), parameters.blockDim = dim3(4);
  cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters);
  return graph;
}

void symbols_and_children() {
  static int some[4] = {1, 2, 3, 4}, others[4] = {10, 20, 30, 40};
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t into = nullptr, child = nullptr, from = nullptr, kernel = nullptr;
  cudaGraph_t doubled = graph_of(doubles, kernel), negated = graph_of(negates, kernel);
  SHOW(cudaGraphCreate(&graph, 0));
  SHOW(cudaGraphAddMemcpyNodeToSymbol(&into, graph, nullptr, 0, words, some, sizeof words, 0,
                                      cudaMemcpyHostToDevice));
  SHOW(cudaGraphAddChildGraphNode(&child, graph, &into, 1, doubled));
  SHOW(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &child, 1, out, words, 2 * sizeof(int), 2 * sizeof(int),
                                        cudaMemcpyDeviceToHost));
  cudaGraphExec_t ready = nullptr;
  SHOW(cudaGraphInstantiate(&ready, graph, 0));
  launch(ready);
  SHOW(cudaGraphExecMemcpyNodeSetParamsToSymbol(ready, into, words, others, sizeof words, 0,
                                                cudaMemcpyHostToDevice));
  SHOW(cudaGraphExecChildGraphNodeSetParams(ready, child, negated));
  SHOW(cudaGraphExecMemcpyNodeSetParamsFromSymbol(ready, from, out, words, sizeof words, 0,
                                                  cudaMemcpyDeviceToHost));
  launch(ready);
  SHOW(cudaGraphMemcpyNodeSetParamsToSymbol(into, words, others, sizeof(int), 3 * sizeof(int),
                                            cudaMemcpyHostToDevice));
  SHOW(cudaGraphMemcpyNodeSetParamsFromSymbol(from, out, words, sizeof words, 0, cudaMemcpyDeviceToHost));
  cudaGraphExec_t again = nullptr;
  SHOW(cudaGraphInstantiate(&again, graph, 0));
  launch(again);
}

void attributes() {
  cudaGraphNode_t one = nullptr, other = nullptr;
  graph_of(doubles, one), graph_of(negates, other);
  cudaLaunchAttributeValue value{};
  value.priority = -1;
  SHOW(cudaGraphKernelNodeSetAttribute(one, cudaLaunchAttributePriority, &value));
  SHOW(cudaGraphKernelNodeCopyAttributes(other, one));
  value = {};
  SHOW(cudaGraphKernelNodeGetAttribute(other, cudaLaunchAttributePriority, &value));
  SHOW_VALUE(value.priority);
  SHOW(cudaGraphKernelNodeGetAttribute(other, cudaLaunchAttributeCooperative, &value));
  SHOW_VALUE(value.cooperative);

  cudaStream_t stream = nullptr, copy = nullptr;
  SHOW(cudaStreamCreate(&stream));
  SHOW(cudaStreamCreate(&copy));
  value = {};
  value.syncPolicy = cudaSyncPolicyYield;
  SHOW(cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
  SHOW(cudaStreamCopyAttributes(copy, stream));
  value = {};
  SHOW(cudaStreamGetAttribute(copy, cudaLaunchAttributeSynchronizationPolicy, &value));
  SHOW_VALUE(value.syncPolicy);
}

} // namespace

int main() {
  symbols_and_children();
  attributes();
}
