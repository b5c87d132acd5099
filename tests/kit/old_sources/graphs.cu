// A graph whose edges are given without data. The functions that the emulator does not have are only
// compiled.
#include <cstdio>

__global__ void add(int* value, int what) {
  *value = 10 * *value + what;
}

// Never called.
void all_the_others(cudaGraph_t graph, cudaStream_t stream, cudaGraphNode_t node, cudaGraphNodeParams* kind) {
  cudaGraphNode_t nodes[2];
  const cudaGraphNode_t* found;
  std::size_t count = 2;
  cudaStreamCaptureStatus status;
  unsigned long long id;
  cudaGraphRemoveDependencies(graph, nodes, nodes + 1, 1);
  cudaGraphGetEdges(graph, nodes, nodes + 1, &count);
  cudaGraphNodeGetDependencies(node, nodes, &count);
  cudaGraphNodeGetDependentNodes(node, nodes, &count);
  cudaGraphAddNode(&node, graph, nodes, 1, kind);
  cudaStreamUpdateCaptureDependencies(stream, nodes, 1, 0);
  cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &found, &count);
  cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &found, &count);
  cudaGraphRemoveDependencies_v2(graph, nodes, nodes + 1, nullptr, 1);
  cudaGraphGetEdges_v2(graph, nodes, nodes + 1, nullptr, &count);
  cudaGraphNodeGetDependencies_v2(node, nodes, nullptr, &count);
  cudaGraphNodeGetDependentNodes_v2(node, nodes, nullptr, &count);
  cudaGraphAddNode_v2(&node, graph, nodes, nullptr, 1, kind);
  cudaStreamUpdateCaptureDependencies_v2(stream, nodes, nullptr, 1, 0);
  cudaStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &found, nullptr, &count);
}

int main() {
  int *value, result = -1;
  cudaMalloc(&value, sizeof *value);
  cudaMemset(value, 0, sizeof *value);
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaGraphNode_t nodes[3];
  int numbers[3] = {3, 2, 1}; // the edges turn the order round
  for (int i = 0; i < 3; ++i) {
    void* arguments[] = {&value, &numbers[i]};
    cudaKernelNodeParams kernel = {};
    kernel.func = reinterpret_cast<void*>(add);
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = arguments;
    cudaGraphAddKernelNode(&nodes[i], graph, nullptr, 0, &kernel);
  }
  std::printf("%d", cudaGraphAddDependencies(graph, &nodes[2], &nodes[1], 1));
  std::printf(" %d", cudaGraphAddDependencies_v2(graph, &nodes[1], &nodes[0], nullptr, 1));
  cudaGraphExec_t ready;
  cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  cudaEventRecord(begin), cudaGraphLaunch(ready, 0), cudaEventRecord(end);
  cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost);
  float milliseconds = -1;
  cudaEventElapsedTime_v2(&milliseconds, begin, end);
  std::printf(" %d %d\n", result, milliseconds >= 0);
}
