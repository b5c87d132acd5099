// Graphs, and memory that is allocated and freed in the order of a stream.
#include "things.hpp"

static cudaGraphExec_t captured(Things& t) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  OK(cudaStreamBeginCapture(t.one, cudaStreamCaptureModeGlobal));
  fill<<<1, 64, 0, t.one>>>(t.a, n, 1);
  OK(cudaMemcpyAsync(t.pinned, t.a, bytes, cudaMemcpyDeviceToHost, t.one));
  OK(cudaStreamEndCapture(t.one, &graph));
  OK(cudaGraphInstantiate(&ready, graph, 0));
  return ready;
}
CASE(graph_waited_for, "clean") {
  Things t;
  const cudaGraphExec_t graph = captured(t);
  OK(cudaGraphLaunch(graph, t.one));
  OK(cudaGraphLaunch(graph, t.one));
  OK(cudaStreamSynchronize(t.one));
  sink = t.pinned[0];
}
CASE(graph_in_two_streams, "clean") {
  Things t;
  const cudaGraphExec_t graph = captured(t);
  OK(cudaGraphLaunch(graph, t.one));
  OK(cudaGraphLaunch(graph, t.two));
  OK(cudaStreamSynchronize(t.two));
  sink = t.pinned[3];
}
CASE(two_graphs_in_two_streams, "race-host: .* a graph in stream 4 writes .* a graph in stream 3 ") {
  Things t;
  const cudaGraphExec_t one = captured(t), two = captured(t);
  OK(cudaGraphLaunch(one, t.one)); // there
  OK(cudaGraphLaunch(two, t.two)); // here
}
CASE(graph_not_waited_for,
     "race-host: the host reads byte 0 of pinned .* a copy in a graph in stream 3 may still write it") {
  Things t;
  const cudaGraphExec_t graph = captured(t);
  OK(cudaGraphLaunch(graph, t.one)); // there
  sink = t.pinned[0];                // here
}
static void two_nodes(int* out, bool ordered, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphNode_t first, second;
  int count = n, value = 1;
  void* arguments[] = {&out, &count, &value};
  cudaKernelNodeParams node{};
  node.func = reinterpret_cast<void*>(fill);
  node.gridDim = dim3(1);
  node.blockDim = dim3(64);
  node.kernelParams = arguments;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &node));
  value = 2;
  OK(cudaGraphAddKernelNode(&second, graph, &first, ordered ? 1 : 0, &node));
  OK(cudaGraphInstantiate(&ready, graph, 0));
  OK(cudaGraphLaunch(ready, stream)); // here
  OK(cudaGraphLaunch(ready, stream)); // here
  OK(cudaStreamSynchronize(stream));
}
CASE(graph_nodes_ordered, "clean") {
  Things t;
  two_nodes(t.a, true, t.one);
}
CASE(graph_nodes_not_ordered,
     "race-host: fill.* in a graph in stream 3 writes byte 0 .* fill.* in a graph in stream 3 writes; "
     "no dependency orders the two .*Add a dependency") {
  Things t;
  two_nodes(t.a, false, t.one);
}
CASE(graph_nodes_in_the_default_stream,
     "race-host: fill.* in a graph in the default stream writes byte 0 .* no dependency orders the two") {
  int* out;
  OK(cudaMalloc(&out, bytes));
  two_nodes(out, false, nullptr);
}
CASE(freed_in_order, "clean") {
  Things t;
  int* c;
  const cudaEvent_t used = new_event();
  OK(cudaMallocAsync(&c, bytes, t.one));
  fill<<<1, 64, 0, t.one>>>(c, n, 1);
  OK(cudaEventRecord(used, t.one));
  OK(cudaStreamWaitEvent(t.two, used));
  OK(cudaFreeAsync(c, t.two));
}
CASE(freed_in_another_stream, "race-host: cudaFreeAsync in stream 4 writes byte 0 of allocation 4 .*, which "
                              "fill.* in stream 3 writes") {
  Things t;
  int* c;
  OK(cudaMallocAsync(&c, bytes, t.one)); // there
  fill<<<1, 64, 0, t.one>>>(c, n, 1);    // there
  OK(cudaFreeAsync(c, t.two));           // here
}
CASE(allocated_in_another_stream,
     "race-host: fill.* in stream 4 writes .*, which cudaMallocAsync in stream 3 writes") {
  Things t;
  int* c;
  OK(cudaMallocAsync(&c, bytes, t.one)); // there
  fill<<<1, 64, 0, t.two>>>(c, n, 1);    // here
}

int main(int argc, char** argv) {
  return run_case(argc, argv);
}
