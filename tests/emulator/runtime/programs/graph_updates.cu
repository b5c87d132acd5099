// What a graph's nodes say of themselves, and how they are changed, before and after it is made ready to run.
#include "show.hpp"

constexpr int n = 64;

__global__ void add(int* values, int amount) {
  values[threadIdx.x] += amount;
}

namespace {

int told = 0;
void tell(void* value) {
  told = *static_cast<int*>(value);
}

int* values = nullptr; // managed

void launch(cudaGraphExec_t graph) {
  told = 0;
  for (int i = 0; i < n; ++i) values[i] = 100;
  SHOW(cudaGraphLaunch(graph, nullptr));
  SHOW(cudaDeviceSynchronize());
  SHOW_VALUE(values[0]);
  SHOW_VALUE(values[n - 1]);
  SHOW_VALUE(told);
}

} // namespace

int main() {
  SHOW(cudaMallocManaged(&values, n * sizeof(int)));
  static int ones[n], twos[n];
  for (int i = 0; i < n; ++i) ones[i] = 1, twos[i] = 2;
  cudaGraph_t graph = nullptr;
  SHOW(cudaGraphCreate(&graph, 0));

  cudaGraphNode_t filled = nullptr, copied = nullptr, added = nullptr, heard = nullptr;
  cudaMemsetParams fill{};
  fill.dst = values, fill.value = 7, fill.elementSize = 4, fill.width = n, fill.height = 1;
  SHOW(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
  SHOW(cudaGraphAddMemcpyNode1D(&copied, graph, &filled, 1, values, ones, n / 2 * sizeof(int),
                                cudaMemcpyDefault));
  int amount = 10, word = 5, other_word = 6;
  void* arguments[] = {&values, &amount};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(add), kernel.gridDim = dim3(1), kernel.blockDim = dim3(n);
  kernel.kernelParams = arguments;
  SHOW(cudaGraphAddKernelNode(&added, graph, &copied, 1, &kernel));
  cudaHostNodeParams host{};
  host.fn = tell, host.userData = &word;
  SHOW(cudaGraphAddHostNode(&heard, graph, &added, 1, &host));

  // What they say.
  cudaMemsetParams fill_now{};
  SHOW(cudaGraphMemsetNodeGetParams(filled, &fill_now));
  SHOW_VALUE(fill_now.dst == values);
  SHOW_VALUE(fill_now.value);
  SHOW_VALUE(fill_now.width);
  cudaMemcpy3DParms copy_now{};
  SHOW(cudaGraphMemcpyNodeGetParams(copied, &copy_now));
  SHOW_VALUE(copy_now.srcPtr.ptr == ones);
  SHOW_VALUE(copy_now.dstPtr.ptr == values);
  SHOW_VALUE(copy_now.extent.width);
  SHOW_VALUE(copy_now.extent.height);
  cudaKernelNodeParams kernel_now{};
  SHOW(cudaGraphKernelNodeGetParams(added, &kernel_now));
  SHOW_VALUE(kernel_now.func == kernel.func);
  SHOW_VALUE(kernel_now.blockDim.x);
  SHOW_VALUE(*static_cast<int*>(kernel_now.kernelParams[1]));
  SHOW_VALUE(kernel_now.extra == nullptr);
  cudaHostNodeParams host_now{};
  SHOW(cudaGraphHostNodeGetParams(heard, &host_now));
  SHOW_VALUE(host_now.fn == tell);
  SHOW(cudaGraphMemsetNodeGetParams(added, &fill_now)); // another kind of node

  // Who depends on whom.
  cudaGraphNode_t found[4] = {}, ends[4] = {};
  std::size_t count = 4;
#if CUDART_VERSION >= 13000
  SHOW(cudaGraphNodeGetDependencies(added, found, nullptr, &count));
  SHOW_VALUE(count);
  SHOW_VALUE(found[0] == copied);
  count = 4;
  SHOW(cudaGraphNodeGetDependentNodes(added, found, nullptr, &count));
  SHOW_VALUE(count);
  SHOW_VALUE(found[0] == heard);
  SHOW(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  SHOW_VALUE(count);
  SHOW(cudaGraphGetEdges(graph, found, ends, nullptr, &count));
#endif
  SHOW_VALUE(count);

  // Changed in the graph.
  fill.value = 20;
  SHOW(cudaGraphMemsetNodeSetParams(filled, &fill));
  SHOW(cudaGraphMemcpyNodeSetParams1D(copied, values, twos, n / 2 * sizeof(int), cudaMemcpyDefault));
  cudaGraphExec_t executable = nullptr;
  SHOW(cudaGraphInstantiateWithFlags(&executable, graph, 0));
  unsigned long long flags = 5;
  SHOW(cudaGraphExecGetFlags(executable, &flags));
  SHOW_VALUE(flags);
  launch(executable);

  // Changed in what is ready to run; the graph stays as it is.
  fill.value = 30;
  SHOW(cudaGraphExecMemsetNodeSetParams(executable, filled, &fill));
  SHOW(cudaGraphExecMemcpyNodeSetParams1D(executable, copied, values, ones, n / 2 * sizeof(int),
                                          cudaMemcpyDefault));
  amount = 1000;
  SHOW(cudaGraphExecKernelNodeSetParams(executable, added, &kernel));
  host.userData = &other_word;
  SHOW(cudaGraphExecHostNodeSetParams(executable, heard, &host));
  launch(executable);
  SHOW(cudaGraphMemsetNodeGetParams(filled, &fill_now));
  SHOW_VALUE(fill_now.value);

  // Left out for a while.
  unsigned enabled = 2;
  SHOW(cudaGraphNodeSetEnabled(executable, copied, 0));
  SHOW(cudaGraphNodeGetEnabled(executable, copied, &enabled));
  SHOW_VALUE(enabled);
  launch(executable);
  SHOW(cudaGraphNodeSetEnabled(executable, copied, 1));
  launch(executable);
  SHOW(cudaGraphExecDestroy(executable));

  // A clone has its own nodes; one of them is taken away.
  cudaGraph_t clone = nullptr;
  cudaGraphNode_t of_clone = nullptr;
  SHOW(cudaGraphClone(&clone, graph));
  SHOW(cudaGraphNodeFindInClone(&of_clone, copied, clone));
  SHOW_VALUE(of_clone != copied);
  SHOW(cudaGraphDestroyNode(of_clone));
  SHOW(cudaGraphGetNodes(clone, nullptr, &count));
  SHOW_VALUE(count);
  SHOW(cudaGraphDestroy(clone));
  SHOW(cudaGraphDestroy(graph));
  SHOW(cudaFree(values));
}
