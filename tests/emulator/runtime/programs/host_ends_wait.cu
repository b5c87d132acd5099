// Kernels that wait for what the host writes after it has launched them; the argument selects one.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

__global__ void waits(volatile unsigned* latch) {
  while (latch[0] < 1) {
  }
}
__global__ void doubles(int* data) {
  data[threadIdx.x] *= 2;
}
__managed__ unsigned managed_latch;
__global__ void waits_for_managed_variable() {
  while (*static_cast<volatile unsigned*>(&managed_latch) == 0) {
  }
}

constexpr int n = 64;

static void report(int* data, cudaStream_t stream) {
  const cudaError_t error = cudaStreamSynchronize(stream);
  std::printf("%s, data[1] = %d\n", cudaGetErrorName(error), error == cudaSuccess ? data[1] : 0);
}

int main(int argc, char** argv) {
  const char* const which = argc > 1 ? argv[1] : "";
  cudaStream_t one, two;
  cudaEvent_t done;
  unsigned* latch = nullptr;
  int* data = nullptr;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  cudaEventCreate(&done);
  cudaMallocHost(&latch, sizeof *latch);
  cudaMallocManaged(&data, n * sizeof *data);
  *latch = 0, managed_latch = 0;
  for (int i = 0; i < n; ++i) data[i] = i;
  const auto opens = [](unsigned* closed) { *static_cast<volatile unsigned*>(closed) = 1; };

  if (!std::strcmp(which, "latch")) {
    for (int round = 0; round < 3; ++round) {
      *latch = 0;
      waits<<<1, 1, 0, one>>>(latch);
      doubles<<<1, n, 0, one>>>(data);
      std::printf("%s\n", cudaGetErrorName(cudaStreamQuery(one)));
      opens(latch);
      cudaStreamSynchronize(one);
    }
    report(data, one);
  }
  if (!std::strcmp(which, "event")) {
    waits<<<1, 1, 0, one>>>(latch);
    doubles<<<1, n, 0, one>>>(data);
    cudaEventRecord(done, one);
    cudaStreamWaitEvent(two, done);
    doubles<<<1, n, 0, two>>>(data);
    opens(latch);
    report(data, two);
  }
  if (!std::strcmp(which, "managed variable")) {
    waits_for_managed_variable<<<2, 1, 0, one>>>();
    doubles<<<1, n, 0, one>>>(data);
    opens(&managed_latch);
    report(data, one);
  }
  if (!std::strcmp(which, "host computes for long")) { // longer than a kernel may wait in vain
    waits<<<1, 1, 0, one>>>(latch);
    doubles<<<1, n, 0, one>>>(data);
    std::this_thread::sleep_for(std::chrono::seconds(11));
    opens(latch);
    report(data, one);
  }
  if (!std::strcmp(which, "opened before")) {
    opens(latch);
    waits<<<1, 1, 0, one>>>(latch);
    doubles<<<1, n, 0, one>>>(data);
    report(data, one);
  }
  if (!std::strcmp(which, "never")) {
    waits<<<1, 1, 0, one>>>(latch);
    doubles<<<1, n, 0, one>>>(data);
    report(data, one);
  }
}
