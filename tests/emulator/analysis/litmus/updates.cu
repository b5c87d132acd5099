// Updates of a place that several threads update: with atomics, with compare-and-swap loops, and plainly.
#include "litmus.cuh"

// LITMUS store_among_atomics: race-global
__global__ void store_among_atomics(int* m) {        // the others may have added already
  if (blockIdx.x == 0 && threadIdx.x == 0) m[0] = 0; // HERE
  __syncthreads();
  atomicAdd(m, 1); // HERE
}
RUN(store_among_atomics, 4, 64)

// LITMUS store_among_atomics_of_a_warp: race-global
__global__ void store_among_atomics_of_a_warp(int* m) { // each thread adds another number, none its value
  float* sum = reinterpret_cast<float*>(m);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) *sum = 0; // HERE
  __syncthreads();
  if (i < 1000) atomicAdd(sum, static_cast<float>(m[64 + i])); // HERE
}
RUN(store_among_atomics_of_a_warp, 8, 128)

// LITMUS store_before_atomics_of_one_block: right
__global__ void store_before_atomics_of_one_block(int* m) {
  if (threadIdx.x == 0) m[0] = 0;
  __syncthreads();
  atomicAdd(m, 1);
}
RUN(store_before_atomics_of_one_block, 1, 64)

// LITMUS store_behind_atomics: race-global
__global__ void store_behind_atomics(int* m) {
  atomicAdd(m, 1); // HERE
  __syncthreads();
  if (blockIdx.x == 1 && threadIdx.x == 5) m[0] = 0; // HERE
}
RUN(store_behind_atomics, 4, 64)

// LITMUS store_of_the_first_lane_among_its_atomics: race-shared
__global__ void store_of_the_first_lane_among_its_atomics(int* m) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0; // HERE
  atomicAdd(&sum, 1);            // HERE
  __syncthreads();
  m[0] = sum;
}
RUN(store_of_the_first_lane_among_its_atomics, 1, 32)

// LITMUS shared_store_among_atomics: race-shared
__global__ void shared_store_among_atomics(int* m) { // orders the lanes of the first warp only
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0; // HERE
  __syncwarp();
  atomicAdd(&sum, 1); // HERE
  atomicAdd(&sum, 1); // HERE
  __syncthreads();
  if (threadIdx.x == 0) m[0] = sum;
}
RUN(shared_store_among_atomics, 1, 128)

// LITMUS shared_store_before_atomics: right
__global__ void shared_store_before_atomics(int* m) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1);
  atomicAdd(&sum, 1);
  __syncthreads();
  if (threadIdx.x == 0) m[0] = sum;
}
RUN(shared_store_before_atomics, 1, 128)

// LITMUS store_of_a_warps_lane_among_its_atomics: race-global
__global__ void store_of_a_warps_lane_among_its_atomics(int* m) {
  if (threadIdx.x == 7) m[0] = 5; // HERE
  atomicAdd(m, 1);                // HERE
}
RUN(store_of_a_warps_lane_among_its_atomics, 1, 32)

// As in the CUDA C++ Programming Guide ("Atomic Functions"): the plain load with which it begins may find an
// old value, which the compare and swap then rejects.
__device__ double add_by_cas(double* address, double value) {
  auto* word = reinterpret_cast<unsigned long long*>(address);
  unsigned long long old = *word, assumed;
  do {
    assumed = old;
    old = atomicCAS(word, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}

// LITMUS double_by_cas: right
__global__ void double_by_cas(int* m) {
  add_by_cas(reinterpret_cast<double*>(m), threadIdx.x);
}
RUN(double_by_cas, 4, 64)

// LITMUS double_by_cas_to_many_places: right
__global__ void double_by_cas_to_many_places(int* m) { // neighbouring threads use neighbouring places
  add_by_cas(reinterpret_cast<double*>(m) + threadIdx.x, blockIdx.x);
}
RUN(double_by_cas_to_many_places, 4, 64)

// LITMUS words_by_cas_to_many_places: right
__global__ void words_by_cas_to_many_places(int* m) {
  int old = m[threadIdx.x], assumed;
  do {
    assumed = old;
    old = atomicCAS(m + threadIdx.x, assumed, assumed + 1);
  } while (assumed != old);
}
RUN(words_by_cas_to_many_places, 4, 64)

// LITMUS maximum_by_cas: right
__global__ void maximum_by_cas(int* m) { // ends early if there is nothing to do
  const float value = threadIdx.x;
  int old = *m;
  while (__int_as_float(old) < value) {
    const int assumed = old;
    old = atomicCAS(m, assumed, __float_as_int(value));
    if (old == assumed) break;
  }
}
RUN(maximum_by_cas, 4, 64)

// LITMUS look_inside_the_cas_loop: right
__global__ void look_inside_the_cas_loop(int* m) {
  int old;
  do {
    old = *(volatile int*)m;
  } while (atomicCAS(m, old, old + 1) != old);
}
RUN(look_inside_the_cas_loop, 4, 1)

// LITMUS shared_by_cas: right
__global__ void shared_by_cas(int* m) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  int old = sum, assumed;
  do {
    assumed = old;
    old = atomicCAS(&sum, assumed, assumed + 1);
  } while (assumed != old);
  __syncthreads();
  m[threadIdx.x] = sum;
}
RUN(shared_by_cas, 1, 64)

// LITMUS plain_update: race-global
__global__ void plain_update(int* m) {
  m[0] = m[0] + 1; // HERE
}
RUN(plain_update, 2, 1)

// LITMUS cas_tried_once: race-global
__global__ void cas_tried_once(int* m) { // no retry if another thread came in between
  const int old = m[0];                  // HERE
  atomicCAS(m, old, old + 1);            // HERE
}
RUN(cas_tried_once, 4, 1)

// LITMUS cas_loop_beside_a_plain_store: race-global
__global__ void cas_loop_beside_a_plain_store(int* m) {
  if (blockIdx.x == 1) {
    m[0] = 100; // HERE
    return;
  }
  int old = m[0], assumed; // HERE
  do {
    assumed = old;
    old = atomicCAS(m, assumed, assumed + 1); // HERE
  } while (assumed != old);
}
RUN(cas_loop_beside_a_plain_store, 3, 1)

// LITMUS cas_loop_that_looks_elsewhere: race-global|fence
__global__ void cas_loop_that_looks_elsewhere(int* m) { // the load of the other place is not a guess
  int assumed, old = 0;
  const int step = m[1]; // HERE
  do {
    assumed = old;
    old = atomicCAS(m, assumed, assumed + step + 1);
  } while (assumed != old);
  atomicAdd(m + 1, 1); // HERE
}
RUN(cas_loop_that_looks_elsewhere, 3, 1)

// As in "Professional CUDA C Programming": the loop begins after a first try.
// LITMUS cas_tried_before_the_loop: right
__global__ void cas_tried_before_the_loop(int* m) {
  int expected = m[0];
  int old = atomicCAS(m, expected, expected + 1);
  while (old != expected) {
    expected = old;
    old = atomicCAS(m, expected, expected + 1);
  }
}
RUN(cas_tried_before_the_loop, 4, 64)

// LITMUS cas_tried_elsewhere_before_the_loop: race-global|fence
__global__ void cas_tried_elsewhere_before_the_loop(int* m) { // the first try says nothing about m[0]
  int expected = m[0];                                        // HERE
  int old = atomicCAS(m + 1, expected, expected + 1);
  while (old != expected) {
    expected = old;
    old = atomicCAS(m, expected, expected + 1); // HERE
  }
}
RUN(cas_tried_elsewhere_before_the_loop, 4, 64)

// LITMUS equal_vectors: right
__global__ void equal_vectors(int* m) {
  reinterpret_cast<float4*>(m)[threadIdx.x % 8] = make_float4(1, 2, 3, 4);
}
RUN(equal_vectors, 4, 64)

// LITMUS equal_vectors_in_shared_memory: right
__global__ void equal_vectors_in_shared_memory(int* m) {
  __shared__ int4 s[8];
  s[threadIdx.x % 8] = make_int4(m[0], 2, 3, static_cast<int>(threadIdx.x % 8));
  __syncthreads();
  m[blockIdx.x * 64 + threadIdx.x + 8] = s[threadIdx.x % 8].w;
}
RUN(equal_vectors_in_shared_memory, 4, 64)

// LITMUS vectors_that_differ_at_the_end: race-global
__global__ void vectors_that_differ_at_the_end(int* m) {
  const float last = static_cast<float>(threadIdx.x);
  reinterpret_cast<float4*>(m)[threadIdx.x % 8] = make_float4(1, 2, 3, last); // HERE
}
RUN(vectors_that_differ_at_the_end, 4, 64)

// LITMUS atomics_of_two_widths: race-global
// SAYS with an atomic of another width
__global__ void atomics_of_two_widths(int* m) {
  if (blockIdx.x == 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(m), 1ull); // HERE
  else
    atomicAdd(m + 1, 1); // HERE
}
RUN(atomics_of_two_widths, 2, 1)

// LITMUS a_half_and_its_word: race-global
// SAYS with an atomic of another width
__global__ void a_half_and_its_word(int* m) {
  if (blockIdx.x == 0)
    atomicAdd(m, 1); // HERE
  else
    atomicCAS(reinterpret_cast<unsigned short*>(m) + 1, 0, 1); // HERE
}
RUN(a_half_and_its_word, 2, 1)

// LITMUS shared_atomics_of_two_widths: race-shared
// SAYS with an atomic of another width
__global__ void shared_atomics_of_two_widths(int* m) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (threadIdx.x < 32)
    atomicAdd(&sum, 1ull); // HERE
  else
    atomicAdd(reinterpret_cast<int*>(&sum), 1); // HERE
  __syncthreads();
  m[threadIdx.x] = static_cast<int>(sum);
}
RUN(shared_atomics_of_two_widths, 1, 64)

// LITMUS atomics_of_two_widths_apart: right
__global__ void atomics_of_two_widths_apart(int* m) {
  atomicAdd(reinterpret_cast<unsigned long long*>(m), 1ull);
  atomicAdd(m + 2, 1);
  atomicCAS(reinterpret_cast<unsigned short*>(m) + 6, 0, 1);
  atomicCAS(reinterpret_cast<unsigned short*>(m) + 7, 0, 1);
}
RUN(atomics_of_two_widths_apart, 4, 64)

int main() {
  return run_all();
}
