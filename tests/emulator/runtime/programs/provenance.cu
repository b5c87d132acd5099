// Small kernels whose results are made of known elements. Prints, for each, its name, the addresses of the
// input and of the result, and where the emulator says that the result comes from.
#include "show.hpp"

#include <cuda_pipeline.h>
#include <dlfcn.h>

constexpr int threads = 64;

__global__ void copied(const float* in, float* out) {
  out[threadIdx.x] = in[threads - 1 - threadIdx.x];
}

__global__ void tree(const float* in, float* out) {
  __shared__ float partial[threads];
  const unsigned t = threadIdx.x;
  partial[t] = in[t];
  __syncthreads();
  for (unsigned stride = threads / 2; stride > 0; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  if (t == 0) *out = partial[0];
}

__global__ void shuffled(const float* in, float* out) {
  float sum = in[threadIdx.x];
  for (unsigned distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
  if (threadIdx.x == 32) *out = sum;
}

__global__ void atomics(const float* in, float* out) {
  atomicAdd(out, in[threadIdx.x]);
  if (threadIdx.x == 5) atomicAdd(out, in[threadIdx.x]);
}

__global__ void swapped(const float* in, float* out) {
  int* const word = reinterpret_cast<int*>(out);
  int seen = *word, expected = 0;
  do {
    expected = seen;
    seen = atomicCAS(word, expected, __float_as_int(in[threadIdx.x] + __int_as_float(expected)));
  } while (seen != expected);
}

__global__ void vectors(const float* in, float* out) {
  const float4 four = reinterpret_cast<const float4*>(in)[threadIdx.x];
  if (threadIdx.x == 3) *out = four.x + four.z;
}

__global__ void narrow(const float* in, float* out) {
  const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(in);
  if (threadIdx.x == 0) *out = float(bytes[4] + bytes[9]);
}

__global__ void asynchronous(const float* in, float* out) {
  __shared__ float here[threads];
  __pipeline_memcpy_async(&here[threadIdx.x], &in[threadIdx.x], sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (threadIdx.x == 0) *out = here[7] + here[9];
}

__device__ __noinline__ float twice(float value) {
  return value + value;
}

__global__ void called(const float* in, float* out) {
  if (threadIdx.x == 1) *out = twice(in[1]) + in[2];
}

__global__ void local(const float* in, float* out, int at) {
  float kept[8];
  for (int i = 0; i < 8; ++i) kept[(i + at) % 8] = in[i];
  if (threadIdx.x == 0) *out = kept[at];
}

__global__ void chosen(const float* in, float* out, int which) {
  if (threadIdx.x == 0) *out = which ? in[4] : in[6];
}

__global__ void index_added(const float* in, float* out) {
  out[threads - 1 - threadIdx.x] = in[threadIdx.x] + float(threadIdx.x);
}

__global__ void overwritten(const float* in, float* out) {
  __shared__ float place;
  if (threadIdx.x == 0) place = in[0];
  __syncthreads();
  if (threadIdx.x == 40) place = in[40];
  __syncthreads();
  if (threadIdx.x == 1) *out = place;
}

// A matrix of 16 x 8, of which each lane has four elements, times one of ones. Lane l's sums 0 and 2 are of
// rows l / 4 and l / 4 + 8.
__global__ void multiplied(const float* in, float* out) {
  unsigned elements[4];
  for (int i = 0; i < 4; ++i) elements[i] = __float_as_uint(in[threadIdx.x % 32 * 4 + i]);
  float sums[4] = {};
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %8}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(elements[0]), "r"(elements[1]), "r"(elements[2]), "r"(elements[3]), "r"(0x3f800000));
  out[threadIdx.x] = threadIdx.x < 32 ? sums[0] : sums[2];
}

__global__ void nothing(const float*, float*) {}

template <typename Function>
Function* look_up(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

float *input, *result;

template <typename Run>
void show(const char* name, Run run) {
  cudaMemset(result, 0, threads * sizeof(float));
  look_up<int(const char*, const char*)>("warpfold_emulator_option")("provenance", "on");
  run();
  std::printf("%s %zu %zu\n", name, reinterpret_cast<std::size_t>(input),
              reinterpret_cast<std::size_t>(result));
  std::puts(look_up<const char*(const void*, std::size_t, std::size_t)>("warpfold_emulator_provenance")(
      result, sizeof(float), threads));
  std::puts("end");
  look_up<int(const char*, const char*)>("warpfold_emulator_option")("provenance", "off");
}

#define SHOW_KERNEL(name, ...)                                                                               \
  show(#name, [] { name<<<1, threads>>>(input, result __VA_OPT__(, ) __VA_ARGS__); })

int main() {
  cudaMalloc(&input, 4 * threads * sizeof(float));
  cudaMalloc(&result, threads * sizeof(float));
  float values[4 * threads];
  for (int i = 0; i < 4 * threads; ++i) values[i] = float(i + 1);
  cudaMemcpy(input, values, sizeof values, cudaMemcpyHostToDevice);
  SHOW_KERNEL(copied);
  SHOW_KERNEL(tree);
  SHOW_KERNEL(shuffled);
  SHOW_KERNEL(atomics);
  SHOW_KERNEL(swapped);
  SHOW_KERNEL(vectors);
  SHOW_KERNEL(narrow);
  SHOW_KERNEL(asynchronous);
  SHOW_KERNEL(called);
  SHOW_KERNEL(local, 3);
  SHOW_KERNEL(chosen, 1);
  SHOW_KERNEL(index_added);
  SHOW_KERNEL(overwritten);
  SHOW_KERNEL(multiplied);
  SHOW_KERNEL(nothing);
  show("two_launches", [] {
    float* between;
    cudaMalloc(&between, threads * sizeof(float));
    copied<<<1, threads>>>(input, between);
    tree<<<1, threads>>>(between, result);
    cudaFree(between);
  });
  show("copied_on_the_device",
       [] { cudaMemcpy(result, input + 8, 2 * sizeof(float), cudaMemcpyDeviceToDevice); });
  show("over_the_host", [] {
    float there[2];
    copied<<<1, threads>>>(input, result);
    cudaMemcpy(there, result, sizeof there, cudaMemcpyDeviceToHost);
    there[1] += 1;
    cudaMemcpy(result, there, sizeof there, cudaMemcpyHostToDevice);
  });
  show("zeroed_afterwards", [] {
    tree<<<1, threads>>>(input, result);
    cudaMemset(result, 0, sizeof(float));
  });
  SHOW(cudaDeviceSynchronize());
}
