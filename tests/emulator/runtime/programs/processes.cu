// Two processes and one device: the second adds to memory of the first, each waits for the other's events.
#include "show.hpp"

#include <csignal>
#include <cstdlib>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void fill(int* a, int first) {
  a[threadIdx.x] = first + static_cast<int>(threadIdx.x);
}
__global__ void add(int* a, int value) {
  a[threadIdx.x] += value;
}

constexpr unsigned n = 100;

struct Handles {
  cudaIpcMemHandle_t memory;
  cudaIpcEventHandle_t event;
};

template <typename T>
void send(int to, const T& what) {
  if (write(to, &what, sizeof what) != sizeof what) std::puts("a message was not sent");
}
template <typename T>
T receive(int from) {
  T what;
  if (read(from, &what, sizeof what) != sizeof what) std::puts("no message came");
  return what;
}

// Which must be another process from the start: CUDA does not survive a fork.
int second_process(int with) {
  const auto theirs = receive<Handles>(with);
  int* a = nullptr;
  cudaEvent_t filled = nullptr;
  SHOW(cudaIpcOpenMemHandle(reinterpret_cast<void**>(&a), theirs.memory, cudaIpcMemLazyEnablePeerAccess));
  SHOW(cudaIpcOpenEventHandle(&filled, theirs.event));
  SHOW(cudaStreamWaitEvent(nullptr, filled));
  add<<<1, n>>>(a, 1000);
  add<<<1, n + 28>>>(a, 0); // 28 elements past its end
  std::printf("past the end -> %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  std::fflush(stdout);
  send(with, 'd');
  return 0;
}

int main(int count, char** arguments) {
  if (count > 1) return second_process(std::atoi(arguments[1]));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  const pid_t child = fork(); // before the first call of CUDA's
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char number[16];
    std::snprintf(number, sizeof number, "%d", ends[1]);
    execl("/proc/self/exe", arguments[0], number, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]); // or the end of the other process would not be noticed
  int *before = nullptr, *a = nullptr, *after = nullptr;
  cudaEvent_t filled = nullptr, own = nullptr;
  cudaMalloc(&before, 64), cudaMalloc(&a, n * sizeof(int)), cudaMalloc(&after, 64);
  cudaMemset(before, 1, 64), cudaMemset(after, 2, 64);
  Handles handles;
  SHOW(cudaIpcGetMemHandle(&handles.memory, a));
  SHOW(cudaEventCreate(&own));
  SHOW(cudaIpcGetEventHandle(&handles.event, own));
  SHOW(cudaEventCreateWithFlags(&filled, cudaEventInterprocess));
  SHOW(cudaEventCreateWithFlags(&filled, cudaEventInterprocess | cudaEventDisableTiming));
  SHOW(cudaIpcGetEventHandle(&handles.event, filled));
  SHOW(cudaIpcOpenMemHandle(reinterpret_cast<void**>(&own), handles.memory, cudaIpcMemLazyEnablePeerAccess));
  fill<<<1, n>>>(a, 5);
  SHOW(cudaEventRecord(filled));
  std::fflush(stdout);
  send(ends[0], handles);
  receive<char>(ends[0]);
  int values[n], neighbours[2];
  SHOW(cudaMemcpy(values, a, sizeof values, cudaMemcpyDeviceToHost));
  SHOW_VALUE(values[0]);
  SHOW_VALUE(values[n - 1]);
  cudaMemcpy(&neighbours[0], before, sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(&neighbours[1], after, sizeof(int), cudaMemcpyDeviceToHost);
  SHOW_VALUE(neighbours[0] == 0x01010101 && neighbours[1] == 0x02020202);
  SHOW(cudaFree(a));
  waitpid(child, nullptr, 0);
}
