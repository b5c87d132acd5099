// Variables of a thread that are never given a value, in registers and in local memory: reported if the value
// matters, and not if it is only moved about.
#include "litmus.cuh"

// LITMUS sum_stored_in_global: unset-register
__global__ void sum_stored_in_global(int* m) {
  float sum;
  for (int i = threadIdx.x; i < 40; i += blockDim.x) sum += m[i]; // HERE
  m[1024 + threadIdx.x] = static_cast<int>(sum);                  // HERE
}
RUN(sum_stored_in_global, 1, 32)

// LITMUS sum_stored_in_shared: unset-register
__global__ void sum_stored_in_shared(int* m) {
  __shared__ float partial[64];
  float sum;
  for (int i = threadIdx.x; i < 400; i += blockDim.x) sum += m[i]; // HERE
  partial[threadIdx.x] = sum;                                      // HERE
  __syncthreads();
  m[1024 + threadIdx.x] = static_cast<int>(partial[63 - threadIdx.x]);
}
RUN(sum_stored_in_shared, 1, 64)

// LITMUS sum_set: right
__global__ void sum_set(int* m) {
  __shared__ float partial[64];
  float sum = 0;
  for (int i = threadIdx.x; i < 400; i += blockDim.x) sum += m[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  m[1024 + threadIdx.x] = static_cast<int>(partial[63 - threadIdx.x]);
}
RUN(sum_set, 1, 64)

// LITMUS count_stored_in_shared: unset-register
__global__ void count_stored_in_shared(int* m) {
  __shared__ int counts[64];
  int count;
  for (int i = threadIdx.x; i < 400; i += blockDim.x)
    if (m[i] == 0) ++count;    // HERE
  counts[threadIdx.x] = count; // HERE
  __syncthreads();
  m[1024 + threadIdx.x] = counts[63 - threadIdx.x];
}
RUN(count_stored_in_shared, 1, 64)

// LITMUS decides_a_branch: unset-register
__global__ void decides_a_branch(int* m) { // the compiler may compare in each iteration
  int last;
  for (int i = 0; i < 40 + m[0]; ++i)      // HERE
    if (m[i] > 3) last = i;                // HERE
  if (last > 2) m[1024 + threadIdx.x] = 1; // HERE
}
RUN(decides_a_branch, 1, 32)

// LITMUS is_an_index: unset-register
__global__ void is_an_index(int* m) {
  int last;
  for (int i = 0; i < 40 + m[0]; ++i) // the compiler cannot know how often
    if (m[i] > 3) last = i;
  m[1024 + (last & 63)] = 1; // HERE
}
RUN(is_an_index, 1, 1)

// LITMUS largest_of_nothing: unset-register
__global__ void largest_of_nothing(int* m) {
  int largest;
  for (int i = threadIdx.x; i < 400; i += blockDim.x) largest = max(largest, m[i]); // HERE
  atomicMax(m + 1024, largest);                                                     // HERE
}
RUN(largest_of_nothing, 1, 64)

// LITMUS shuffled_into_a_sum: unset-register
__global__ void shuffled_into_a_sum(int* m) { // the threads without an element still have a value
  int value;
  if (threadIdx.x < 40) value = m[threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset); // HERE
  if (threadIdx.x % 32 == 0) atomicAdd(m + 1024, value);                                        // HERE
}
RUN(shuffled_into_a_sum, 1, 64)

// LITMUS shuffled_and_dropped: right
__global__ void shuffled_and_dropped(int* m) { // only lanes that have a neighbour take its value
  int value;
  if (threadIdx.x < 40) value = m[threadIdx.x];
  const int next = __shfl_down_sync(~0u, value, 1);
  if (threadIdx.x < 39 && threadIdx.x != 31) m[1024 + threadIdx.x] = next;
}
RUN(shuffled_and_dropped, 1, 64)

// LITMUS computed_and_dropped: right
__global__ void computed_and_dropped(int* m) {
  int value;
  if (threadIdx.x < 40) value = m[threadIdx.x];
  const int sum = value + __shfl_xor_sync(~0u, value, 1);
  m[1024 + threadIdx.x] = threadIdx.x < 40 ? sum : 0;
}
RUN(computed_and_dropped, 1, 64)

// LITMUS laid_aside_in_shared: right
__global__ void laid_aside_in_shared(int* m) { // a copy that nobody reads
  __shared__ int values[64];
  int value;
  if (threadIdx.x < 40) value = m[threadIdx.x];
  values[threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.x < 40) m[1024 + threadIdx.x] = values[39 - threadIdx.x];
}
RUN(laid_aside_in_shared, 1, 64)

struct Padded {
  int status;
  int value;
};

// LITMUS half_of_a_pair: right
__global__ void
half_of_a_pair(int* m) { // one store of 8 bytes, of which the status says that the rest is void
  Padded pair;
  pair.status = threadIdx.x;
  if (m[threadIdx.x] > 0) pair.value = 1;
  reinterpret_cast<unsigned long long*>(m)[512 + threadIdx.x] =
      reinterpret_cast<const unsigned long long&>(pair);
}
RUN(half_of_a_pair, 1, 32)

// The variable is in local memory, because the function that sets it is not inlined.
template <bool Sets>
__device__ __noinline__ bool look_up(const int* m, int i, int& found) {
  if (m[2048 + i] == 0) return false;
  if (Sets || m[3072 + i] != 0) found = m[i]; // m[3072...] is 0, which the compiler does not know
  return true;
}

// LITMUS loaded_before_it_is_needed: right
__global__ void loaded_before_it_is_needed(int* m) { // the compiler loads it in any case, and then selects
  m[2048 + threadIdx.x] = threadIdx.x % 2;
  int found;
  m[1024 + threadIdx.x] = look_up<true>(m, threadIdx.x, found) ? found : -1;
}
RUN(loaded_before_it_is_needed, 1, 64)

// LITMUS loaded_and_never_set: uninitialised
__global__ void loaded_and_never_set(int* m) {
  m[2048 + threadIdx.x] = threadIdx.x % 2;
  int found;
  m[1024 + threadIdx.x] = look_up<false>(m, threadIdx.x, found) ? found : -1; // HERE
}
RUN(loaded_and_never_set, 1, 64)

int main() {
  return run_all();
}
