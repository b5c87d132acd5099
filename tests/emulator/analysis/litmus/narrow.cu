// Elements of one and two bytes: those of one word are apart, and each is followed as a word is.
#include "litmus.cuh"

#include <cuda_fp16.h>

template <typename T>
__device__ T* as(int* m) {
  return reinterpret_cast<T*>(m);
}

template <typename T>
__device__ void smooth(T* values, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = static_cast<T>((values[i] + values[i + 1]) / 2); // HERE
}

// LITMUS bytes_of_the_next_block: race-global
__global__ void bytes_of_the_next_block(int* m) {
  unsigned char* bytes = as<unsigned char>(m);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int sum = bytes[i] + bytes[i + 1]; // HERE
  __syncthreads();
  bytes[i] = sum / 2 + 1; // HERE
}
RUN(bytes_of_the_next_block, 4, 64)

// LITMUS bytes_of_the_next_lane: race-global
__global__ void bytes_of_the_next_lane(int* m) {
  unsigned char* bytes = as<unsigned char>(m);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  bytes[i] = (bytes[i] + bytes[i + 1]) / 2; // HERE
}
RUN(bytes_of_the_next_lane, 4, 64)

// LITMUS shorts_of_the_next_lane: race-global
__global__ void shorts_of_the_next_lane(int* m) {
  short* shorts = as<short>(m);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  shorts[i] = static_cast<short>((shorts[i] + shorts[i + 1]) / 2); // HERE
}
RUN(shorts_of_the_next_lane, 4, 64)

// LITMUS bytes_into_another_array: right
__global__ void bytes_into_another_array(int* m) {
  smooth(as<unsigned char>(m), as<unsigned char>(m) + 1024 + 1);
}
RUN(bytes_into_another_array, 4, 63)

// LITMUS shorts_into_another_array: right
__global__ void shorts_into_another_array(int* m) {
  smooth(as<short>(m), as<short>(m) + 1024 + 1);
}
RUN(shorts_into_another_array, 4, 63)

// LITMUS two_writers_of_a_byte: race-global
// SAYS byte
__global__ void two_writers_of_a_byte(int* m) {
  as<char>(m)[threadIdx.x % 32] = static_cast<char>(threadIdx.x + 1); // HERE
}
RUN(two_writers_of_a_byte, 1, 64)

// LITMUS two_writers_of_the_fifth_byte: race-global
// SAYS byte 5 of
__global__ void two_writers_of_the_fifth_byte(int* m) {
  if (threadIdx.x % 32 == 5) as<char>(m)[5] = static_cast<char>(threadIdx.x + 1); // HERE
  if (threadIdx.x % 32 == 6) as<char>(m)[6 + threadIdx.x / 32] = 1;
}
RUN(two_writers_of_the_fifth_byte, 1, 64)

// LITMUS a_byte_for_each_thread: right
__global__ void a_byte_for_each_thread(int* m) {
  as<char>(m)[blockIdx.x + gridDim.x * threadIdx.x] = static_cast<char>(threadIdx.x + 1);
}
RUN(a_byte_for_each_thread, 4, 64)

// LITMUS a_bool_that_all_set: right
__global__ void a_bool_that_all_set(int* m) {
  if (threadIdx.x % 3 == 0) as<bool>(m)[7] = true;
}
RUN(a_bool_that_all_set, 4, 64)

// LITMUS bools_set_and_unset: race-global
// SAYS byte 7 of
__global__ void bools_set_and_unset(int* m) {
  as<bool>(m)[threadIdx.x == 40 ? 7 : threadIdx.x] = threadIdx.x != 7; // HERE
}
RUN(bools_set_and_unset, 1, 64)

template <bool WithBarrier>
__device__ void tree(int* m) {
  __shared__ __half s[256];
  s[threadIdx.x] = __float2half(static_cast<float>(threadIdx.x % 7));
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] = __hadd(s[threadIdx.x], s[threadIdx.x + half]); // HERE
    if (WithBarrier) __syncthreads();
  }
  if (threadIdx.x == 0) m[blockIdx.x] = static_cast<int>(__half2float(s[0]));
}

// LITMUS half_tree: right
__global__ void half_tree(int* m) {
  tree<true>(m);
}
RUN(half_tree, 2, 256)

// LITMUS half_tree_without_barrier: race-shared
// SAYS s[
__global__ void half_tree_without_barrier(int* m) {
  tree<false>(m);
}
RUN(half_tree_without_barrier, 2, 256)

// LITMUS last_byte_of_shared_memory: race-shared
// SAYS s[255]
__global__ void last_byte_of_shared_memory(int* m) {
  __shared__ unsigned char s[256];
  s[threadIdx.x] = 1;                 // HERE
  if (threadIdx.x == 254) s[255] = 2; // HERE
  __syncthreads();
  m[threadIdx.x] = s[threadIdx.x];
}
RUN(last_byte_of_shared_memory, 1, 256)

// LITMUS last_byte_after_a_barrier: right
__global__ void last_byte_after_a_barrier(int* m) {
  __shared__ unsigned char s[256];
  s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 254) s[255] = 2;
  __syncthreads();
  m[threadIdx.x] = s[threadIdx.x];
}
RUN(last_byte_after_a_barrier, 1, 256)

// LITMUS bytes_read_as_words: race-global
__global__ void bytes_read_as_words(int* m) {
  if (threadIdx.x < 32)
    as<char>(m)[threadIdx.x] = 1; // HERE
  else if (threadIdx.x < 40)
    m[threadIdx.x] = m[threadIdx.x - 32]; // HERE
}
RUN(bytes_read_as_words, 1, 64)

// LITMUS bytes_read_as_words_after_a_barrier: right
__global__ void bytes_read_as_words_after_a_barrier(int* m) {
  if (threadIdx.x < 32) as<char>(m)[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x >= 32 && threadIdx.x < 40) m[threadIdx.x] = m[threadIdx.x - 32];
}
RUN(bytes_read_as_words_after_a_barrier, 1, 64)

// LITMUS words_read_as_bytes: race-shared
__global__ void words_read_as_bytes(int* m) {
  __shared__ int s[32];
  if (threadIdx.x < 32) s[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x < 32)
    s[threadIdx.x] = m[threadIdx.x] + 1; // HERE
  else
    m[threadIdx.x] = as<unsigned char>(s)[threadIdx.x - 31]; // HERE
}
RUN(words_read_as_bytes, 1, 64)

// LITMUS words_read_as_bytes_by_their_lanes: right
__global__ void words_read_as_bytes_by_their_lanes(int* m) {
  __shared__ int s[32];
  s[threadIdx.x] = m[threadIdx.x] + 1;
  m[threadIdx.x] = as<unsigned char>(s)[4 * threadIdx.x + 1] + as<short>(s)[2 * threadIdx.x + 1];
}
RUN(words_read_as_bytes_by_their_lanes, 1, 32)

int main() {
  return run_all();
}
