// Kernels that each access device memory in their own way, to see what the emulator needs besides it:
//   patterns PATTERN ELEMENTS    (elements: 4 bytes each)
#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr unsigned block_size = 256;

// Whole rows.
__global__ void rows(float* data, float* sum, size_t n) {
  float mine = 0;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    mine += data[i];
  atomicAdd(sum, mine);
}

// Many phases in shared memory for each element of device memory.
__global__ void phases(float* data, float* sum, size_t n) {
  __shared__ float partial[block_size];
  const size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  partial[threadIdx.x] = i < n ? data[i] : 0;
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    if (threadIdx.x % (2 * stride) == 0) partial[threadIdx.x] += partial[threadIdx.x + stride];
  }
  if (threadIdx.x == 0) atomicAdd(sum, partial[0]);
}

// Every other word is written, each by its reader.
__global__ void every_other(float* data, float*, size_t n) {
  const size_t i = 2 * (size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (i + 1 < n) data[i] += data[i + 1];
}

// Every word is written, and then read by another thread.
__global__ void handed_on(float* data, float* sum, size_t n) {
  const size_t begin = size_t{blockIdx.x} * blockDim.x;
  const unsigned other = (threadIdx.x + 33) % blockDim.x;
  if (begin + threadIdx.x < n) data[begin + threadIdx.x] = 1;
  __syncthreads();
  if (begin + other < n && data[begin + other] < 0) *sum = 1;
}

int main(int, char** arguments) {
  const size_t n = std::strtoull(arguments[2], nullptr, 10);
  const struct {
    const char* name;
    void (*kernel)(float*, float*, size_t);
    size_t blocks;
  } patterns[] = {
      {"rows", rows, 256},
      {"phases", phases, n / block_size},
      {"every_other", every_other, n / block_size / 2},
      {"handed_on", handed_on, n / block_size},
  };
  float *data, *sum;
  if (cudaMalloc(&data, n * sizeof(float)) || cudaMalloc(&sum, sizeof(float))) return 2;
  cudaMemset(data, 0, n * sizeof(float));
  cudaMemset(sum, 0, sizeof(float));
  for (const auto& pattern : patterns) {
    if (std::strcmp(pattern.name, arguments[1]) != 0) continue;
    pattern.kernel<<<static_cast<unsigned>(pattern.blocks), block_size>>>(data, sum, n);
    const cudaError_t error = cudaDeviceSynchronize();
    if (error) std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return error ? 1 : 0;
  }
  return 2;
}
