// Lab 09, loads of 16 bytes: alignment, heads and tails.
#include "parts.cuh"

#include <cstdint>

__device__ inline float fold(float4 v) {
  return (v.x + v.y) + (v.z + v.w);
}

// The thread of the grid, and how many there are.
struct Place {
  std::size_t thread, threads;
  __device__ Place()
      : thread(std::size_t{blockIdx.x} * blockDim.x + threadIdx.x),
        threads(std::size_t{gridDim.x} * blockDim.x) {}
};

__global__ void misaligned_vectors(const float* input, float* result, std::size_t n) {
  const Place at;
  float sum = 0;
  for (std::size_t i = at.thread; i < n / 4; i += at.threads) {
    // MUTANT misaligned_vectors: state=wrong kind=misaligned diagnosis=none
    // 16 bytes at an address that need not be a multiple of 16.
    sum += fold(reinterpret_cast<const float4*>(input)[i]);
  }
  if (at.thread < n % 4) sum += input[n / 4 * 4 + at.thread];
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

// From here on the input is looked at from its first multiple of 16 bytes.
__device__ inline unsigned head_of(const float* input, std::size_t n) {
  const unsigned head = -reinterpret_cast<std::uintptr_t>(input) % 16 / 4;
  return head < n ? head : static_cast<unsigned>(n);
}

__global__ void vector_tail_lost(const float* input, float* result, std::size_t n) {
  const Place at;
  const unsigned head = head_of(input, n);
  float sum = at.thread < head ? input[at.thread] : 0;
  // MUTANT vector_tail_lost: state=wrong kind=none diagnosis=not-read
  // Up to three elements after the last whole vector are left out.
  for (std::size_t i = at.thread; i < (n - head) / 4; i += at.threads) {
    sum += fold(reinterpret_cast<const float4*>(input + head)[i]);
  }
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void vector_past_the_end(const float* input, float* result, std::size_t n) {
  const Place at;
  const unsigned head = head_of(input, n);
  float sum = at.thread < head ? input[at.thread] : 0;
  for (std::size_t i = at.thread; 4 * i < n - head; i += at.threads) {
    // MUTANT vector_past_the_end: state=wrong kind=out-of-bounds diagnosis=any
    // The last vector is read whole, though the input may end within it.
    sum += fold(reinterpret_cast<const float4*>(input + head)[i]);
  }
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void three_of_four(const float* input, float* result, std::size_t n) {
  const Place at;
  const unsigned head = head_of(input, n);
  const std::size_t vectors = (n - head) / 4;
  float sum = at.thread < head ? input[at.thread] : 0;
  for (std::size_t i = at.thread; i < vectors; i += at.threads) {
    const float4 v = reinterpret_cast<const float4*>(input + head)[i];
    // MUTANT three_of_four: state=wrong kind=none diagnosis=not-used
    // The fourth element of each vector is forgotten.
    sum += v.x + v.y + v.z;
  }
  if (at.thread < n - head - 4 * vectors) sum += input[head + 4 * vectors + at.thread];
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void tail_twice(const float* input, float* result, std::size_t n) {
  const Place at;
  const unsigned head = head_of(input, n);
  const std::size_t vectors = (n - head) / 4;
  float sum = at.thread < head ? input[at.thread] : 0;
  for (std::size_t i = at.thread; i < vectors; i += at.threads) {
    sum += fold(reinterpret_cast<const float4*>(input + head)[i]);
  }
  // MUTANT tail_twice: state=wrong kind=none diagnosis=read-again
  // The tail starts one element too soon, with the last one of the last vector.
  const std::size_t tail = head + 4 * vectors - (vectors > 0);
  if (tail + at.thread < n) sum += input[tail + at.thread];
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void vector_index_of_floats(const float* input, float* result, std::size_t n) {
  const Place at;
  const unsigned head = head_of(input, n);
  float sum = at.thread < head ? input[at.thread] : 0;
  for (std::size_t i = at.thread; i < n - head; i += at.threads) {
    // MUTANT vector_index_of_floats: state=wrong kind=out-of-bounds diagnosis=any
    // n counts floats, and i counts vectors.
    sum += fold(reinterpret_cast<const float4*>(input + head)[i]);
  }
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void unrolled_rest_lost(const float* input, float* result, std::size_t n) {
  const Place at;
  float sum = 0;
  // MUTANT unrolled_rest_lost: state=wrong kind=none diagnosis=not-read
  // Four elements a turn; what does not fill a turn of the whole grid is left out.
  for (std::size_t i = at.thread; n / at.threads >= 4 && i < n / (4 * at.threads) * (4 * at.threads);
       i += 4 * at.threads) {
    sum += (input[i] + input[i + at.threads]) + (input[i + 2 * at.threads] + input[i + 3 * at.threads]);
  }
  if (n / at.threads < 4) sum = walk(input, n);
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void scalar_loads(const float* input, float* result, std::size_t n) {
  // MUTANT scalar_loads: state=off-technique kind=none diagnosis=none
  // Right, but 4 bytes per load.
  const float sum = shuffle_sum(walk(input, n));
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

__global__ void one_load_at_a_time(const float* input, float* result, std::size_t n) {
  const Place at;
  const unsigned head = head_of(input, n);
  const std::size_t vectors = (n - head) / 4;
  float sum = at.thread < head ? input[at.thread] : 0;
  // MUTANT one_load_at_a_time: state=off-technique kind=none diagnosis=none
  // Right, and 16 bytes per load, but a thread waits for each before it asks for the next.
  for (std::size_t i = at.thread; i < vectors; i += at.threads) {
    sum += fold(reinterpret_cast<const float4*>(input + head)[i]);
  }
  if (at.thread < n - head - 4 * vectors) sum += input[head + 4 * vectors + at.thread];
  sum = shuffle_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

int main(int argc, char** argv) {
  using lab::Rung;
  const auto of = [](const char* name, void (*reduce)(const float*, float*, std::size_t, unsigned)) {
    return Rung(name)
        .on(reduce)
        .promise(grid_fits_device())
        .promise(lab::at_most(
            lab::Counter::global_load_requests,
            [](const lab::Size& s) { return s.n / 128.0 + s.blocks * s.warps(); },
            "16 bytes per load are expected"));
  };
  return lab::main(
      argc, argv,
      {of("misaligned_vectors", in_one_wave<misaligned_vectors>),
       of("vector_tail_lost", in_one_wave<vector_tail_lost>),
       of("vector_past_the_end", in_one_wave<vector_past_the_end>),
       of("three_of_four", in_one_wave<three_of_four>), of("tail_twice", in_one_wave<tail_twice>),
       of("vector_index_of_floats", in_one_wave<vector_index_of_floats>),
       of("unrolled_rest_lost", in_one_wave<unrolled_rest_lost>),
       of("scalar_loads", in_one_wave<scalar_loads>),
       of("one_load_at_a_time", in_one_wave<one_load_at_a_time>)
           .promise(lab::promised("09_speed_of_light", "one_wave", lab::Counter::loads_at_once))});
}
