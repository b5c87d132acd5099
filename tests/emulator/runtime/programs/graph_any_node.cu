// Nodes that are added by one function for all kinds (cudaGraphAddNode, CUDA 12.3 and later).
#include "show.hpp"

constexpr int n = 1000;

__global__ void add_up(const int* a, int* result) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i];
  *result += sum;
}

int told = 0;
void tell(void* value) {
  told = *static_cast<int*>(value);
}

cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                cudaGraphNodeParams& parameters) {
#if CUDART_VERSION >= 13000
  return cudaGraphAddNode(node, graph, after, nullptr, count, &parameters);
#else
  return cudaGraphAddNode(node, graph, after, count, &parameters);
#endif
}

cudaGraphNodeParams kind(cudaGraphNodeType type) {
  return {type, {}, {}, 0};
}

int main() {
  int *a = nullptr, *result = nullptr;
  SHOW(cudaMallocManaged(&a, n * sizeof(int)));
  SHOW(cudaMallocManaged(&result, sizeof(int)));
  *result = 5;
  static int numbers[n];
  for (int i = 0; i < n; ++i) numbers[i] = i;
  cudaGraph_t graph = nullptr, child = nullptr;
  SHOW(cudaGraphCreate(&graph, 0));
  SHOW(cudaGraphCreate(&child, 0));

  cudaGraphNode_t first = nullptr, filled = nullptr, copied = nullptr, added = nullptr, heard = nullptr,
                  inner = nullptr;
  cudaGraphNodeParams empty = kind(cudaGraphNodeTypeEmpty);
  SHOW(add(&first, graph, nullptr, 0, empty));
  cudaGraphNodeParams fill = kind(cudaGraphNodeTypeMemset);
  fill.memset.dst = result, fill.memset.value = 7, fill.memset.elementSize = 4, fill.memset.width = 1;
  fill.memset.height = 1;
  SHOW(add(&filled, graph, &first, 1, fill));
  cudaGraphNodeParams copy = kind(cudaGraphNodeTypeMemcpy);
  copy.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(numbers, n * sizeof(int), n, 1);
  copy.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(a, n * sizeof(int), n, 1);
  copy.memcpy.copyParams.extent = make_cudaExtent(n * sizeof(int), 1, 1);
  copy.memcpy.copyParams.kind = cudaMemcpyHostToDevice;
  SHOW(add(&copied, graph, &filled, 1, copy));
  cudaGraphNodeParams kernel = kind(cudaGraphNodeTypeKernel);
  void* arguments[] = {&a, &result};
  kernel.kernel.func = reinterpret_cast<void*>(add_up);
  kernel.kernel.gridDim = dim3(1), kernel.kernel.blockDim = dim3(1), kernel.kernel.kernelParams = arguments;
  SHOW(add(&added, graph, &copied, 1, kernel));
  SHOW(add(&inner, child, nullptr, 0, kernel));
  cudaGraphNodeParams whole = kind(cudaGraphNodeTypeGraph);
  whole.graph.graph = child;
  SHOW(add(&inner, graph, &added, 1, whole));
  cudaGraphNodeParams host = kind(cudaGraphNodeTypeHost);
  int word = 42;
  host.host.fn = tell, host.host.userData = &word;
  SHOW(add(&heard, graph, &inner, 1, host));
  cudaGraphNodeParams memory = kind(cudaGraphNodeTypeMemAlloc), release = kind(cudaGraphNodeTypeMemFree);
  memory.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
  memory.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
  memory.alloc.bytesize = n;
  cudaGraphNode_t allocated = nullptr, freed = nullptr;
  SHOW(add(&allocated, graph, &heard, 1, memory));
  SHOW_VALUE(memory.alloc.dptr != nullptr);
  release.free.dptr = memory.alloc.dptr;
  SHOW(add(&freed, graph, &allocated, 1, release));

  cudaGraphNodeParams wrong = kind(cudaGraphNodeTypeMemset);
  SHOW(add(&freed, graph, nullptr, 1, wrong));

  cudaGraphExec_t executable = nullptr;
  SHOW(cudaGraphInstantiate(&executable, graph, 0));
  SHOW(cudaGraphLaunch(executable, nullptr));
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(*result);
  SHOW_VALUE(told);
  for (cudaGraphNode_t node : {first, filled, copied, added, inner, heard, allocated, freed}) {
    cudaGraphNodeType type{};
    SHOW(cudaGraphNodeGetType(node, &type));
    SHOW_VALUE(static_cast<int>(type));
  }
}
