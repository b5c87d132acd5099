// Graphs: captured from streams, built by hand, launched again, changed.
#include "show.hpp"

#include <thread>

__global__ void add(int* sum, int value) {
  *sum += value;
}
__global__ void multiply(int* sum, int value) {
  *sum *= value;
}

void captured(int* sum) {
  cudaStream_t stream, side;
  cudaEvent_t fork, join;
  cudaStreamCreate(&stream);
  cudaStreamCreate(&side);
  cudaEventCreate(&fork);
  cudaEventCreate(&join);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamCaptureStatus status;
  *sum = 1;
  SHOW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add<<<1, 1, 0, stream>>>(sum, 2);
  SHOW(cudaEventRecord(fork, stream));
  SHOW(cudaStreamWaitEvent(side, fork));
  multiply<<<1, 1, 0, side>>>(sum, 3);
  SHOW(cudaStreamIsCapturing(side, &status));
  SHOW_VALUE(status == cudaStreamCaptureStatusActive);
  SHOW(cudaEventRecord(join, side));
  SHOW(cudaStreamWaitEvent(stream, join));
  add<<<1, 1, 0, stream>>>(sum, 4);
  SHOW(cudaStreamEndCapture(stream, &graph));
  std::printf("nothing has run: %d\n", *sum);
  size_t count;
  SHOW(cudaGraphGetNodes(graph, nullptr, &count));
  SHOW_VALUE(count);
  SHOW(cudaGraphInstantiate(&executable, graph, 0));
  SHOW(cudaGraphLaunch(executable, stream));
  cudaStreamSynchronize(stream);
  std::printf("(1 + 2) * 3 + 4 = %d\n", *sum);
  SHOW(cudaGraphLaunch(executable, stream));
  cudaStreamSynchronize(stream);
  std::printf("(13 + 2) * 3 + 4 = %d\n", *sum);
  SHOW(cudaGraphDestroy(graph));
  SHOW(cudaGraphLaunch(executable, stream));
  SHOW(cudaGraphExecDestroy(executable));
  SHOW(cudaGraphLaunch(executable, stream));
}

void forbidden(int* sum) {
  cudaStream_t stream, side;
  cudaEvent_t event;
  cudaStreamCreate(&stream);
  cudaStreamCreate(&side);
  cudaEventCreate(&event);
  cudaGraph_t graph;
  SHOW(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
  SHOW(cudaStreamEndCapture(stream, &graph));
  SHOW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  SHOW(cudaStreamSynchronize(stream));
  SHOW(cudaStreamEndCapture(stream, &graph));
  SHOW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add<<<1, 1>>>(sum, 1);
  SHOW(cudaGetLastError());
  SHOW(cudaStreamEndCapture(stream, &graph));
  SHOW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  SHOW(cudaEventRecord(event, stream));
  SHOW(cudaStreamWaitEvent(side, event));
  add<<<1, 1, 0, side>>>(sum, 1);
  float milliseconds;
  SHOW(cudaEventElapsedTime(&milliseconds, event, event));
  SHOW(cudaEventSynchronize(event));
  SHOW(cudaStreamEndCapture(stream, &graph));
  SHOW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  SHOW(cudaEventRecord(event, stream));
  SHOW(cudaStreamWaitEvent(side, event));
  SHOW(cudaStreamEndCapture(side, &graph)); // the wrong one
  SHOW(cudaStreamEndCapture(stream, &graph));
  void* memory;
  SHOW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  SHOW(cudaMalloc(&memory, 4));
  SHOW(cudaStreamEndCapture(stream, &graph));
  SHOW(cudaStreamSynchronize(side));
}

// What a program may ask of a capture, and what other threads may do meanwhile.
void asked(int* sum) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamCaptureStatus status;
  unsigned long long id = 0, second_id = 0;
  cudaGraph_t graph, of_capture = nullptr;
  const cudaGraphNode_t* last = nullptr;
  size_t count = 7;
  SHOW(cudaStreamGetCaptureInfo(stream, &status, &id));
  SHOW_VALUE(status == cudaStreamCaptureStatusNone);
  SHOW_VALUE(id);
  SHOW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  SHOW(cudaStreamGetCaptureInfo(stream, &status, &id, &of_capture, &last, nullptr, &count));
  SHOW_VALUE(status == cudaStreamCaptureStatusActive);
  SHOW_VALUE(count);
  add<<<1, 1, 0, stream>>>(sum, 2);
  SHOW(cudaStreamGetCaptureInfo(stream, &status, &second_id, &of_capture, &last, nullptr, &count));
  SHOW_VALUE(second_id == id && id != 0);
  SHOW_VALUE(count);
  std::thread([] {
    void* memory = nullptr;
    SHOW(cudaMalloc(&memory, 4));
    SHOW(cudaFree(memory));
  }).join();
  const cudaGraphNode_t node = last[0];
  SHOW(cudaStreamEndCapture(stream, &graph));
  SHOW_VALUE(graph == of_capture);
  cudaGraphNode_t only = nullptr;
  count = 1;
  SHOW(cudaGraphGetNodes(graph, &only, &count));
  SHOW_VALUE(only == node);
  SHOW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  SHOW(cudaStreamGetCaptureInfo(stream, &status, &second_id));
  SHOW_VALUE(second_id != id);
  void* memory = nullptr;
  SHOW(cudaMalloc(&memory, 4));
  SHOW(cudaStreamEndCapture(stream, &graph));
}

void set_to_hundred(void* sum) {
  *static_cast<int*>(sum) = 100;
}

void built(int* sum) {
  cudaGraph_t graph, clone;
  cudaGraphExec_t executable;
  cudaGraphNode_t start, first, second, last, refused;
  SHOW(cudaGraphCreate(&graph, 0));
  int value = 5;
  void* arguments[] = {&sum, &value};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(add);
  kernel.gridDim = kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  cudaHostNodeParams host{set_to_hundred, sum};
  // Added in the wrong order on purpose: the dependencies decide.
  SHOW(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &kernel));
  kernel.func = reinterpret_cast<void*>(multiply);
  SHOW(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
  SHOW(cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
  SHOW(cudaGraphAddHostNode(&start, graph, nullptr, 0, &host));
  SHOW(cudaGraphAddDependencies(graph, &start, &first, nullptr, 1));
  cudaMemsetParams fill{sum + 1, 0, 9, 4, 2, 1};
  SHOW(cudaGraphAddMemsetNode(&last, graph, &second, 1, &fill));
  SHOW(cudaGraphClone(&clone, graph));
  SHOW(cudaGraphInstantiate(&executable, clone, 0));
  value = 0; // the arguments were copied
  SHOW(cudaGraphLaunch(executable, 0));
  cudaDeviceSynchronize();
  std::printf("100 * 5 + 5 = %d; then %d %d %d\n", sum[0], sum[1], sum[2], sum[3]);
  kernel.blockDim = dim3(2000);
  SHOW(cudaGraphAddKernelNode(&refused, graph, nullptr, 0, &kernel));
  SHOW(cudaGraphAddDependencies(graph, &second, &first, nullptr, 1));
  SHOW(cudaGraphInstantiate(&executable, graph, 0));
}

int main() {
  int* sum;
  cudaMallocManaged(&sum, 16);
  cudaMemset(sum, 0, 16);
  captured(sum);
  forbidden(sum);
  built(sum);
  asked(sum);
}
