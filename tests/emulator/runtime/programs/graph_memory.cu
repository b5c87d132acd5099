// Memory that graphs allocate and free.
#include "show.hpp"

__global__ void fill(int* a, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = value + i;
}
__global__ void add_up(const int* a, int n, int* result) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i];
  *result = sum;
}

constexpr int n = 1000;

cudaMemAllocNodeParams request() {
  cudaMemAllocNodeParams parameters{};
  parameters.poolProps.allocType = cudaMemAllocationTypePinned;
  parameters.poolProps.location.type = cudaMemLocationTypeDevice;
  parameters.poolProps.location.id = 0;
  parameters.bytesize = n * sizeof(int);
  return parameters;
}

void show_type(cudaGraphNode_t node) {
  cudaGraphNodeType type{};
  SHOW(cudaGraphNodeGetType(node, &type));
  SHOW_VALUE(static_cast<int>(type));
}

int main() {
  int* result = nullptr;
  SHOW(cudaMallocManaged(&result, sizeof(int)));
  cudaStream_t stream = nullptr;
  SHOW(cudaStreamCreate(&stream));

  // allocate, fill, add up, free: launched twice
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaGraphNode_t allocated = nullptr, filled = nullptr, added = nullptr, freed = nullptr;
  SHOW(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams memory = request();
  SHOW(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &memory));
  SHOW_VALUE(memory.dptr != nullptr);
  show_type(allocated);
  int count = n, value = 5;
  void* fill_arguments[] = {&memory.dptr, &count, &value};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(fill);
  kernel.gridDim = dim3(4), kernel.blockDim = dim3(256), kernel.kernelParams = fill_arguments;
  SHOW(cudaGraphAddKernelNode(&filled, graph, &allocated, 1, &kernel));
  void* add_arguments[] = {&memory.dptr, &count, &result};
  kernel.func = reinterpret_cast<void*>(add_up);
  kernel.gridDim = dim3(1), kernel.blockDim = dim3(1), kernel.kernelParams = add_arguments;
  SHOW(cudaGraphAddKernelNode(&added, graph, &filled, 1, &kernel));
  SHOW(cudaGraphAddMemFreeNode(&freed, graph, &added, 1, memory.dptr));
  show_type(freed);
  SHOW(cudaGraphAddMemFreeNode(&freed, graph, &added, 1, memory.dptr));
  SHOW(cudaGraphAddMemFreeNode(&freed, graph, nullptr, 0, result));
  SHOW(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 2; ++i) {
    SHOW(cudaGraphLaunch(executable, stream));
    SHOW(cudaStreamSynchronize(stream));
    SHOW_VALUE(*result);
  }
  cudaGraphExec_t second = nullptr;
  SHOW(cudaGraphInstantiate(&second, graph, 0));
  cudaGraph_t clone = nullptr;
  SHOW(cudaGraphClone(&clone, graph));
  SHOW(cudaGraphExecDestroy(executable));
  SHOW(cudaGraphInstantiate(&second, graph, 0));
  SHOW(cudaGraphExecDestroy(second));
  SHOW(cudaGraphDestroy(graph));

  // what a graph leaves is freed outside of it
  SHOW(cudaGraphCreate(&graph, 0));
  memory = request();
  SHOW(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &memory));
  fill_arguments[0] = &memory.dptr;
  kernel.func = reinterpret_cast<void*>(fill);
  kernel.gridDim = dim3(4), kernel.blockDim = dim3(256), kernel.kernelParams = fill_arguments;
  SHOW(cudaGraphAddKernelNode(&filled, graph, &allocated, 1, &kernel));
  SHOW(cudaGraphInstantiate(&executable, graph, 0));
  SHOW(cudaGraphLaunch(executable, stream));
  add_up<<<1, 1, 0, stream>>>(static_cast<int*>(memory.dptr), n, result);
  SHOW(cudaStreamSynchronize(stream));
  SHOW_VALUE(*result);
  SHOW(cudaGraphLaunch(executable, stream)); // it still holds its memory
  SHOW(cudaFreeAsync(memory.dptr, stream));
  SHOW(cudaGraphLaunch(executable, stream));
  SHOW(cudaStreamSynchronize(stream));
  SHOW(cudaFree(memory.dptr));
  SHOW(cudaGraphExecDestroy(executable));
  SHOW(cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  SHOW(cudaGraphLaunch(executable, stream));
  SHOW(cudaGraphLaunch(executable, stream));
  SHOW(cudaStreamSynchronize(stream));
  SHOW(cudaFree(memory.dptr));
  SHOW(cudaGraphExecDestroy(executable));
  SHOW(cudaGraphDestroy(graph));

  // captured
  SHOW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  int* captured = nullptr;
  SHOW(cudaMallocAsync(&captured, n * sizeof(int), stream));
  SHOW_VALUE(captured != nullptr);
  fill<<<4, 256, 0, stream>>>(captured, n, 7);
  add_up<<<1, 1, 0, stream>>>(captured, n, result);
  SHOW(cudaFreeAsync(captured, stream));
  SHOW(cudaStreamEndCapture(stream, &graph));
  SHOW(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 2; ++i) {
    SHOW(cudaGraphLaunch(executable, stream));
    SHOW(cudaStreamSynchronize(stream));
    SHOW_VALUE(*result);
  }
  cudaGraphNode_t nodes[8];
  size_t found = 8;
  SHOW(cudaGraphGetNodes(graph, nodes, &found));
  SHOW_VALUE(found);
  cudaMemAllocNodeParams told{};
  SHOW(cudaGraphMemAllocNodeGetParams(nodes[0], &told));
  SHOW_VALUE(told.dptr == captured);
  SHOW_VALUE(told.bytesize);
  SHOW(cudaDeviceGraphMemTrim(0));
  unsigned long long used = 7;
  SHOW(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
  SHOW_VALUE(used);
  SHOW(cudaGraphExecDestroy(executable));
  SHOW(cudaGraphDestroy(graph));
}
