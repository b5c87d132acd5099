// Nodes that record events and wait for them, the graphs inside child nodes, user objects, and a graph drawn.
#include "show.hpp"

#include <chrono>
#include <cstring>
#include <thread>

__global__ void add(int* sum, int value) {
  *sum += value;
}

int value_of(const int* on_device) {
  int value = 0;
  cudaMemcpy(&value, on_device, sizeof value, cudaMemcpyDeviceToHost);
  return value;
}

cudaKernelNodeParams adding(void** arguments) {
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(add);
  parameters.gridDim = parameters.blockDim = dim3(1);
  parameters.kernelParams = arguments;
  return parameters;
}

// One graph records an event, another waits for it, in streams that nothing else orders.
void events(int* sum) {
  int one = 1, ten = 10;
  void *add_one[] = {&sum, &one}, *add_ten[] = {&sum, &ten};
  const cudaKernelNodeParams first = adding(add_one), second = adding(add_ten);
  cudaEvent_t begin, end, other, found = nullptr;
  cudaEventCreate(&begin), cudaEventCreate(&end), cudaEventCreate(&other);
  cudaGraph_t recording, waiting;
  cudaGraphCreate(&recording, 0), cudaGraphCreate(&waiting, 0);
  cudaGraphNode_t begun, added, ended, awaited, last;
  SHOW(cudaGraphAddEventRecordNode(&begun, recording, nullptr, 0, begin));
  SHOW(cudaGraphAddKernelNode(&added, recording, &begun, 1, &first));
  SHOW(cudaGraphAddEventRecordNode(&ended, recording, &added, 1, other));
  SHOW(cudaGraphAddEventWaitNode(&awaited, waiting, nullptr, 0, other));
  SHOW(cudaGraphAddKernelNode(&last, waiting, &awaited, 1, &second));
  SHOW(cudaGraphEventRecordNodeGetEvent(ended, &found));
  SHOW_VALUE(found == other);
  SHOW(cudaGraphEventRecordNodeSetEvent(ended, end));
  SHOW(cudaGraphEventWaitNodeSetEvent(awaited, end));
  SHOW(cudaGraphEventWaitNodeGetEvent(awaited, &found));
  SHOW_VALUE(found == end);
  SHOW(cudaGraphEventWaitNodeGetEvent(ended, &found));
  cudaGraphNodeType type;
  cudaGraphNodeGetType(begun, &type);
  SHOW_VALUE(type == cudaGraphNodeTypeEventRecord);
  cudaGraphNodeGetType(awaited, &type);
  SHOW_VALUE(type == cudaGraphNodeTypeWaitEvent);

  cudaGraphExec_t records, waits;
  SHOW(cudaGraphInstantiate(&records, recording, 0));
  SHOW(cudaGraphInstantiate(&waits, waiting, 0));
  cudaStream_t one_stream, other_stream;
  cudaStreamCreateWithFlags(&one_stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other_stream, cudaStreamNonBlocking);
  SHOW(cudaGraphLaunch(records, one_stream));
  SHOW(cudaGraphLaunch(waits, other_stream));
  SHOW(cudaStreamSynchronize(other_stream));
  SHOW_VALUE(value_of(sum));
  SHOW(cudaEventSynchronize(end));
  float milliseconds = -1;
  SHOW(cudaEventElapsedTime(&milliseconds, begin, end));
  SHOW_VALUE(milliseconds >= 0);
  SHOW(cudaEventQuery(other));
  SHOW(cudaGraphExecEventRecordNodeSetEvent(records, ended, other));
  SHOW(cudaGraphExecEventWaitNodeSetEvent(waits, awaited, other));
  SHOW(cudaGraphLaunch(records, one_stream));
  SHOW(cudaGraphLaunch(waits, other_stream));
  SHOW(cudaStreamSynchronize(other_stream));
  SHOW_VALUE(value_of(sum));

  cudaGraph_t captured;
  SHOW(cudaStreamBeginCapture(one_stream, cudaStreamCaptureModeGlobal));
  SHOW(cudaStreamWaitEvent(one_stream, end, cudaEventWaitExternal));
  add<<<1, 1, 0, one_stream>>>(sum, 100);
  SHOW(cudaEventRecordWithFlags(other, one_stream, cudaEventRecordExternal));
  SHOW(cudaStreamEndCapture(one_stream, &captured));
  size_t count = 0;
  SHOW(cudaGraphGetNodes(captured, nullptr, &count));
  SHOW_VALUE(count);
  cudaGraphExec_t from_capture;
  SHOW(cudaGraphInstantiate(&from_capture, captured, 0));
  SHOW(cudaGraphLaunch(from_capture, one_stream));
  SHOW(cudaStreamWaitEvent(other_stream, other, 0));
  add<<<1, 1, 0, other_stream>>>(sum, 1000);
  SHOW(cudaEventSynchronize(other));
  SHOW(cudaStreamSynchronize(other_stream));
  SHOW_VALUE(value_of(sum));
  SHOW(cudaEventRecordWithFlags(other, one_stream, cudaEventRecordExternal));
  SHOW(cudaStreamWaitEvent(one_stream, other, cudaEventWaitExternal));
  SHOW(cudaDeviceSynchronize());
}

// The node has a copy of the graph, which may be changed and is copied in turn.
void children(int* sum) {
  int two = 2, thirty = 30, four_hundred = 400;
  void *add_two[] = {&sum, &two}, *add_thirty[] = {&sum, &thirty}, *add_more[] = {&sum, &four_hundred};
  const cudaKernelNodeParams given = adding(add_two), changed = adding(add_thirty), later = adding(add_more);
  cudaGraph_t child, parent, inside, clone, inside_clone;
  cudaGraphCreate(&child, 0), cudaGraphCreate(&parent, 0);
  cudaGraphNode_t kernel, holder, inner, other;
  SHOW(cudaGraphAddKernelNode(&kernel, child, nullptr, 0, &given));
  SHOW(cudaGraphAddChildGraphNode(&holder, parent, nullptr, 0, child));
  SHOW(cudaGraphChildGraphNodeGetGraph(holder, &inside));
  SHOW_VALUE(inside != child);
  SHOW(cudaGraphChildGraphNodeGetGraph(kernel, &clone));
  size_t count = 1;
  SHOW(cudaGraphGetNodes(inside, &inner, &count));
  SHOW_VALUE(inner != kernel);
  SHOW(cudaGraphNodeFindInClone(&other, kernel, inside));
  SHOW(cudaGraphKernelNodeSetParams(kernel, &later)); // of the original: too late for the node
  SHOW(cudaGraphKernelNodeSetParams(inner, &changed));
  SHOW(cudaGraphClone(&clone, parent));
  SHOW(cudaGraphNodeFindInClone(&other, holder, clone));
  SHOW(cudaGraphChildGraphNodeGetGraph(other, &inside_clone));
  SHOW_VALUE(inside_clone != inside);
  cudaGraphExec_t executable;
  SHOW(cudaGraphInstantiate(&executable, clone, 0));
  SHOW(cudaGraphLaunch(executable, nullptr));
  SHOW_VALUE(value_of(sum));
  SHOW(cudaGraphInstantiate(&executable, parent, 0));
  SHOW(cudaGraphExecChildGraphNodeSetParams(executable, holder, child));
  SHOW(cudaGraphLaunch(executable, nullptr));
  SHOW_VALUE(value_of(sum));

  constexpr const char* path = "graph_events.dot";
  SHOW(cudaGraphDebugDotPrint(parent, path, 0));
  char text[8] = {};
  if (std::FILE* const file = std::fopen(path, "r")) {
    if (std::fread(text, 1, 7, file) != 7) text[0] = 0;
    std::fclose(file);
  }
  SHOW_VALUE(std::strcmp(text, "digraph"));
  std::remove(path);
  SHOW(cudaGraphDestroy(clone));
  SHOW(cudaGraphDestroy(parent));
}

void destroy(void* destroyed) {
  *static_cast<volatile bool*>(destroyed) = true;
}

// CUDA calls it some time later.
bool is_soon(const volatile bool& flag) {
  for (int i = 0; i < 1000 && !flag; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return flag;
}

void user_objects() {
  static bool destroyed = false, other_destroyed = false;
  cudaUserObject_t object, other;
  SHOW(cudaUserObjectCreate(&object, &destroyed, destroy, 1, 0));
  SHOW(cudaUserObjectCreate(&object, &destroyed, destroy, 0, cudaUserObjectNoDestructorSync));
  SHOW(cudaUserObjectCreate(&object, &destroyed, destroy, 2, cudaUserObjectNoDestructorSync));
  SHOW(cudaUserObjectRetain(object, 1));
  cudaGraph_t graph, clone;
  cudaGraphCreate(&graph, 0);
  SHOW(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  SHOW(cudaGraphRetainUserObject(graph, object, 2, 0));
  SHOW(cudaGraphReleaseUserObject(graph, object, 1));
  SHOW(cudaUserObjectRelease(object, 2));
  SHOW_VALUE(destroyed);
  cudaGraphExec_t executable;
  SHOW(cudaGraphInstantiate(&executable, graph, 0));
  SHOW(cudaGraphClone(&clone, graph));
  SHOW(cudaGraphDestroy(graph));
  SHOW_VALUE(destroyed);
  SHOW(cudaGraphDestroy(clone));
  SHOW_VALUE(destroyed);
  SHOW(cudaGraphLaunch(executable, nullptr));
  SHOW(cudaDeviceSynchronize());
  SHOW(cudaGraphExecDestroy(executable));
  SHOW_VALUE(is_soon(destroyed));
  SHOW(cudaUserObjectCreate(&other, &other_destroyed, destroy, 1, cudaUserObjectNoDestructorSync));
  SHOW(cudaUserObjectRelease(other, 1));
  SHOW_VALUE(is_soon(other_destroyed));
}

int main() {
  int* sum;
  SHOW(cudaMalloc(&sum, sizeof(int)));
  SHOW(cudaMemset(sum, 0, sizeof(int)));
  events(sum);
  SHOW(cudaMemset(sum, 0, sizeof(int)));
  children(sum);
  user_objects();
}
