// Bad accesses, one after another or all at once; test_bad_accesses.py says what must be reported about each.
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>

__global__ void store_double(char* at) {
  *reinterpret_cast<double*>(at) = 1; // misaligned_past_the_end
}
__global__ void store_at(int* to, int i) {
  to[i] = 1; // store_at
}
__global__ void load_at(int* to, const int* from, int i) {
  to[0] = from[i]; // load_at
}
__global__ void load_from(int* to, long long address) {
  to[0] = *reinterpret_cast<const int*>(address);
}
__global__ void load_float(int* to, const char* from, int offset) {
  to[0] = static_cast<int>(*reinterpret_cast<const float*>(from + offset));
}
long long number_of(const int* a) {
  return reinterpret_cast<long long>(a);
}
__global__ void fill(int* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = 1;
}
__global__ void store_per_block(int* to) {
  to[blockIdx.x] = 1;
}
__global__ void load_byte(int* to, const char* from, int row, int pitch) {
  to[0] = from[row * pitch + 1];
}
__global__ void copy(int* to, int* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i % 10] = from[i];
}
__global__ void add_up(int* to, const int* sums, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = sums[i]; // add_up
}
__global__ void shuffle_in_a_branch(int* to) {
  int sum = threadIdx.x;
  if (threadIdx.x % 32 < 16) sum += __shfl_down_sync(0xffffffff, sum, 8); // in a branch
  __syncthreads();                                                        // after it
  to[threadIdx.x] = sum;
}
__device__ int x;
__global__ void beyond_x(int i) {
  (&x)[i] = 1; // beyond_x
}
__global__ void race_for_i(int* out) {
  __shared__ int i;
  if (threadIdx.x == 0) i = out[70]; // race_for_i
  out[threadIdx.x] = i;              // race_for_i
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  int* a = nullptr;
  if (cudaMalloc(&a, 400)) return 1;
  cudaMemset(a, 0, 400);
  if (is("misaligned_past_the_end")) {
    store_double<<<1, 1>>>(reinterpret_cast<char*>(a) + 396);
  } else if (is("misaligned_inside")) {
    store_double<<<1, 1>>>(reinterpret_cast<char*>(a) + 36);
  } else if (is("one_thread_once")) {
    store_at<<<1, 1>>>(a, 100);
  } else if (is("second_kernel")) {
    store_at<<<1, 1>>>(a, 100);
    cudaDeviceSynchronize();
    load_at<<<1, 1>>>(a, a, 1000); // second launch
  } else if (is("null_argument")) {
    load_at<<<1, 1>>>(a, nullptr, 1);
  } else if (is("null_and_zero")) {
    load_at<<<1, 1>>>(a, nullptr, 0);
  } else if (is("more_than_elements")) {
    fill<<<4, 32>>>(a, 128);
  } else if (is("more_blocks")) {
    store_per_block<<<101, 1>>>(a);
  } else if (is("overflowed")) {
    char* large = nullptr;
    if (cudaMalloc(&large, (std::size_t{1} << 31) + 100)) return 1;
    load_byte<<<1, 1>>>(a, large, 1 << 20, 1 << 11);
    cudaDeviceSynchronize();
    cudaFree(large);
  } else if (is("far_away")) {
    load_from<<<1, 1>>>(a, number_of(a) - (1ll << 32));
  } else if (is("far_index")) {
    load_at<<<1, 1>>>(a, a, 1 << 30);
  } else if (is("bytes")) {
    load_float<<<1, 1>>>(a, reinterpret_cast<char*>(a), -4);
  } else if (is("swapped_arguments")) {
    int* b = nullptr;
    if (cudaMalloc(&b, 40)) return 1;
    cudaMemset(b, 0, 40);
    copy<<<1, 32>>>(a, b, 32);
    cudaFree(b);
  } else if (is("partly_written")) {
    int* b = nullptr;
    if (cudaMalloc(&b, 40)) return 1;
    fill<<<1, 32>>>(b, 1);
    add_up<<<1, 32>>>(a, b, 10);
    cudaFree(b);
  } else if (is("shuffle_in_a_branch")) {
    shuffle_in_a_branch<<<1, 64>>>(a);
  } else if (is("refused_free")) {
    store_at<<<1, 1>>>(a, 100);
    cudaDeviceSynchronize();
  } else if (is("between_two")) {
    int* b = nullptr;
    if (cudaMalloc(&b, 400)) return 1;
    load_from<<<1, 1>>>(a, number_of(a) + 2400);
    cudaFree(b);
  } else if (int size = 0; std::sscanf(name, "past_%d_bytes", &size) == 1) {
    int *one = nullptr, *next = nullptr;
    if (cudaMalloc(&one, size) || cudaMalloc(&next, 4096)) return 1;
    cudaMemset(next, 0, 4096);
    load_at<<<1, 1>>>(a, one, (size + 256) / 4);
    cudaFree(one), cudaFree(next);
  } else if (is("variable_x")) {
    beyond_x<<<1, 1>>>(1);
  } else if (is("variable_i")) {
    race_for_i<<<1, 64>>>(a);
  } else {
    return 2;
  }
  cudaDeviceSynchronize();
  std::printf("cudaFree: %s\n", cudaGetErrorString(cudaFree(a)));
  return 0;
}
