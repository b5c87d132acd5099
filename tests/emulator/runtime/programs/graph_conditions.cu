// Conditional nodes of graphs (built with -rdc=true): if, else, while, switch, and one within another.
#include "show.hpp"

__global__ void append(int* log, int digit) {
  *log = *log * 10 + digit;
}
__global__ void choose(cudaGraphConditionalHandle condition, const int* value) {
  cudaGraphSetConditional(condition, static_cast<unsigned>(*value));
}
__global__ void count_down(cudaGraphConditionalHandle condition, int* left) {
  cudaGraphSetConditional(condition, --*left > 0);
}

namespace {

int *digits = nullptr, *chosen = nullptr, *left = nullptr; // managed

cudaGraphNode_t kernel_node(cudaGraph_t graph, const cudaGraphNode_t* after, void* kernel, void** arguments) {
  cudaKernelNodeParams parameters{};
  parameters.func = kernel, parameters.gridDim = dim3(1), parameters.blockDim = dim3(1);
  parameters.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  if (cudaGraphAddKernelNode(&node, graph, after, after ? 1 : 0, &parameters) != cudaSuccess)
    std::puts("no kernel node");
  return node;
}

cudaGraphNode_t append_digit(cudaGraph_t graph, const cudaGraphNode_t* after, int digit) {
  void* arguments[] = {&digits, &digit};
  return kernel_node(graph, after, reinterpret_cast<void*>(append), arguments);
}

// The graphs of a conditional node, after one that sets its condition.
cudaGraph_t* conditional(cudaGraph_t graph, const cudaGraphNode_t* after,
                         cudaGraphConditionalHandle condition, cudaGraphConditionalNodeType type,
                         unsigned size) {
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = condition;
  parameters.conditional.type = type;
  parameters.conditional.size = size;
  cudaGraphNode_t node = nullptr;
  SHOW(cudaGraphAddNode(&node, graph, after, nullptr, after ? 1 : 0, &parameters));
  cudaGraphNodeType found{};
  SHOW(cudaGraphNodeGetType(node, &found));
  SHOW_VALUE(found == cudaGraphNodeTypeConditional);
  return parameters.conditional.phGraph_out;
}

void launch(cudaGraphExec_t graph) {
  *digits = 0;
  SHOW(cudaGraphLaunch(graph, nullptr));
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(*digits);
}

void choice(cudaGraphConditionalNodeType type, unsigned graphs, int first, int last) {
  cudaGraph_t graph = nullptr;
  SHOW(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle condition{};
  SHOW(cudaGraphConditionalHandleCreate(&condition, graph, 0, 0));
  void* arguments[] = {&condition, &chosen};
  const cudaGraphNode_t chooser = kernel_node(graph, nullptr, reinterpret_cast<void*>(choose), arguments);
  cudaGraph_t* const bodies = conditional(graph, &chooser, condition, type, graphs);
  for (unsigned i = 0; i < graphs; ++i) append_digit(bodies[i], nullptr, static_cast<int>(i) + 1);
  cudaGraphExec_t executable = nullptr;
  SHOW(cudaGraphInstantiate(&executable, graph));
  for (*chosen = first; *chosen <= last; ++*chosen) launch(executable);
  SHOW(cudaGraphExecDestroy(executable));
  SHOW(cudaGraphDestroy(graph));
}

// A loop in a stream that is being captured, between two other nodes.
void captured_loop() {
  cudaStream_t stream = nullptr, inner = nullptr;
  SHOW(cudaStreamCreate(&stream));
  SHOW(cudaStreamCreate(&inner));
  SHOW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  append<<<1, 1, 0, stream>>>(digits, 5);
  cudaStreamCaptureStatus status{};
  cudaGraph_t graph = nullptr, same = nullptr;
  const cudaGraphNode_t* last = nullptr;
  std::size_t count = 0;
  SHOW(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &last, nullptr, &count));
  SHOW_VALUE(count);
  cudaGraphConditionalHandle goes_on{};
  SHOW(cudaGraphConditionalHandleCreate(&goes_on, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams loop{};
  loop.type = cudaGraphNodeTypeConditional;
  loop.conditional.handle = goes_on, loop.conditional.type = cudaGraphCondTypeWhile,
  loop.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
  SHOW(cudaGraphAddNode(&node, graph, last, nullptr, count, &loop));
  SHOW(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
  append<<<1, 1, 0, stream>>>(digits, 9);
  SHOW(cudaStreamEndCapture(stream, &same));
  SHOW_VALUE(same == graph);
  const cudaGraph_t body = loop.conditional.phGraph_out[0];
  SHOW(cudaStreamBeginCaptureToGraph(inner, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
  append<<<1, 1, 0, inner>>>(digits, 6);
  count_down<<<1, 1, 0, inner>>>(goes_on, left);
  SHOW(cudaStreamEndCapture(inner, nullptr));
  cudaGraphExec_t executable = nullptr;
  SHOW(cudaGraphInstantiate(&executable, graph));
  *left = 3;
  launch(executable);
  SHOW(cudaGraphExecDestroy(executable));
  SHOW(cudaGraphDestroy(graph));
  SHOW(cudaStreamDestroy(inner));
  SHOW(cudaStreamDestroy(stream));
}

} // namespace

int main() {
  SHOW(cudaMallocManaged(&digits, sizeof(int)));
  SHOW(cudaMallocManaged(&chosen, sizeof(int)));
  SHOW(cudaMallocManaged(&left, sizeof(int)));
  choice(cudaGraphCondTypeIf, 1, 0, 2);
  choice(cudaGraphCondTypeIf, 2, 0, 1);
  choice(cudaGraphCondTypeSwitch, 3, 0, 3);

  captured_loop();

  // A loop, around a choice that its own kernel makes.
  cudaGraph_t graph = nullptr;
  SHOW(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle goes_on{};
  SHOW(cudaGraphConditionalHandleCreate(&goes_on, graph, 1, cudaGraphCondAssignDefault));
  const cudaGraph_t body = *conditional(graph, nullptr, goes_on, cudaGraphCondTypeWhile, 1);
  cudaGraphConditionalHandle is_odd{};
  SHOW(cudaGraphConditionalHandleCreate(&is_odd, body, 0, 0));
  void* of_chooser[] = {&is_odd, &left};
  void* of_counter[] = {&goes_on, &left};
  const cudaGraphNode_t chooser = kernel_node(body, nullptr, reinterpret_cast<void*>(choose), of_chooser);
  cudaGraph_t* const inner = conditional(body, &chooser, is_odd, cudaGraphCondTypeSwitch, 3);
  append_digit(inner[1], nullptr, 7);
  append_digit(inner[2], nullptr, 8);
  cudaGraphNode_t nodes[2] = {};
  std::size_t count = 2;
  SHOW(cudaGraphGetNodes(body, nodes, &count));
  SHOW_VALUE(count);
  kernel_node(body, nodes[0] == chooser ? &nodes[1] : &nodes[0], reinterpret_cast<void*>(count_down),
              of_counter);
  cudaGraphExec_t executable = nullptr;
  SHOW(cudaGraphInstantiate(&executable, graph));
  for (const int times : {3, 1}) { // the condition is 1 again at each launch
    *left = times;
    launch(executable);
    SHOW_VALUE(*left);
  }
  cudaGraphNodeParams again{};
  again.type = cudaGraphNodeTypeConditional;
  again.conditional.handle = goes_on, again.conditional.type = cudaGraphCondTypeWhile,
  again.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
  SHOW(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &again));
  SHOW(cudaGraphExecDestroy(executable));
  SHOW(cudaGraphDestroy(graph));
  for (int* const memory : {digits, chosen, left}) SHOW(cudaFree(memory));
}
