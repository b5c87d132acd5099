// Streams and events: handles, order, host functions, times.
#include "show.hpp"

__global__ void append(int* list, int value) {
  list[++list[0]] = value;
}

void say_value(void* data) {
  std::printf("host function: %d\n", *static_cast<int*>(data));
}
void say_status(cudaStream_t, cudaError_t status, void* data) {
  std::printf("callback: %s %d\n", cudaGetErrorName(status), *static_cast<int*>(data));
}

int main() {
  cudaStream_t one, two, high;
  cudaEvent_t begin, end, timeless;
  int least, greatest, priority, *list, value = 5;
  unsigned flags;
  unsigned long long id_one, id_two;
  SHOW(cudaStreamCreate(&one));
  SHOW(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  SHOW(cudaStreamCreateWithFlags(&high, 99));
  SHOW(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  SHOW_VALUE(greatest < least);
  SHOW(cudaStreamCreateWithPriority(&high, 0, greatest - 10));
  SHOW(cudaStreamGetPriority(high, &priority));
  SHOW_VALUE(priority == greatest);
  SHOW(cudaStreamGetFlags(two, &flags));
  SHOW_VALUE(flags == cudaStreamNonBlocking);
  SHOW(cudaStreamGetId(one, &id_one));
  SHOW(cudaStreamGetId(two, &id_two));
  SHOW_VALUE(id_one != id_two);

  SHOW(cudaEventCreate(&begin));
  SHOW(cudaEventCreate(&end));
  SHOW(cudaEventCreateWithFlags(&timeless, cudaEventDisableTiming));
  float milliseconds = -1;
  SHOW(cudaEventElapsedTime(&milliseconds, begin, end));

  cudaMallocManaged(&list, 64);
  cudaMemset(list, 0, 64);
  SHOW(cudaEventRecord(begin, one));
  append<<<1, 1, 0, one>>>(list, 11);
  SHOW(cudaEventRecord(timeless, one));
  SHOW(cudaStreamWaitEvent(two, timeless));
  append<<<1, 1, 0, two>>>(list, 22);
  SHOW(cudaLaunchHostFunc(two, say_value, &list[2]));
  SHOW(cudaStreamAddCallback(two, say_status, &value, 0));
  append<<<1, 1>>>(list, 33);
  append<<<1, 1, 0, cudaStreamPerThread>>>(list, 44);
  SHOW(cudaEventRecord(end, two));
  SHOW(cudaEventSynchronize(end));
  SHOW(cudaEventQuery(end));
  SHOW(cudaStreamQuery(two));
  SHOW(cudaStreamSynchronize(one));
  SHOW(cudaDeviceSynchronize());
  std::printf("%d entries: %d %d %d %d\n", list[0], list[1], list[2], list[3], list[4]);
  SHOW(cudaEventElapsedTime(&milliseconds, begin, end));
  SHOW_VALUE(milliseconds > 0);
  SHOW(cudaEventElapsedTime(&milliseconds, begin, timeless));

  SHOW(cudaStreamDestroy(two));
  SHOW(cudaStreamSynchronize(two));
  SHOW(cudaStreamDestroy(two));
  SHOW(cudaStreamDestroy(0));
  append<<<1, 1, 0, two>>>(list, 55);
  SHOW(cudaGetLastError());
  SHOW(cudaMemcpyAsync(list, list + 1, 4, cudaMemcpyDefault, two));
  SHOW(cudaEventDestroy(end));
  SHOW(cudaEventRecord(end));
  SHOW(cudaLaunchHostFunc(one, nullptr, nullptr));
  std::printf("%d entries\n", list[0]);
}
