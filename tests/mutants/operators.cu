// Lab 06: the operator, its identity, and what becomes of the blocks' results.
#include "parts.cuh"

#include <cfloat>
#include <climits>
#include <limits>

template <class T>
using Limits = std::numeric_limits<T>;
template <class T>
constexpr T least = Limits<T>::has_infinity ? -Limits<T>::infinity() : Limits<T>::lowest();
template <class T>
constexpr T greatest = Limits<T>::has_infinity ? Limits<T>::infinity() : Limits<T>::max();

// The operators, as they should be.
struct Add {
  template <class T>
  static __device__ T identity() {
    return 0;
  }
  template <class T>
  static __device__ T combine(T a, T b) {
    return a + b;
  }
};
struct Min {
  template <class T>
  static __device__ T identity() {
    return greatest<T>;
  }
  template <class T>
  static __device__ T combine(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  static __device__ T identity() {
    return least<T>;
  }
  template <class T>
  static __device__ T combine(T a, T b) {
    return a < b ? b : a;
  }
};
struct Product {
  template <class T>
  static __device__ T identity() {
    return 1;
  }
  template <class T>
  static __device__ T combine(T a, T b) {
    return a * b;
  }
};

// The kernel of the lab, in parts: a thread's walk, a warp's 32 values, a block's warps.
template <class Op, class T>
__device__ T walk_with(const T* input, std::size_t n) {
  T value = Op::template identity<T>();
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
    value = Op::combine(value, input[i]);
  }
  return value;
}

template <class Op, class T>
__device__ T reduce_warp(T value) {
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    value = Op::combine(value, __shfl_down_sync(lab::all_lanes, value, distance));
  }
  return value;
}

// In thread 0. Op is the operator within a warp, Across that of the warps' values.
template <class Op, class Across = Op, class T>
__device__ T reduce_block(T value) {
  __shared__ T of_warps[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = reduce_warp<Op>(value);
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  if (warp != 0) return value;
  value = lane < blockDim.x / 32 ? of_warps[lane] : Across::template identity<T>();
  return reduce_warp<Across>(value);
}

template <class Op, class T>
__global__ void reduce_kernel(const T* input, T* results, std::size_t n) {
  const T value = reduce_block<Op>(walk_with<Op>(input, n));
  if (threadIdx.x == 0) results[blockIdx.x] = value;
}

// A first launch of `kernel`, with a result per block, and a second that reduces those.
template <class Op, auto kernel, class T>
void in_two_launches(const T* input, T* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  T* of_blocks = lab::scratch<T>(blocks);
  kernel<<<blocks, block>>>(input, of_blocks, n);
  reduce_kernel<Op, T><<<1, block>>>(of_blocks, result, blocks);
}
template <class Op, class T>
void reduce(const T* input, T* result, std::size_t n, unsigned block) {
  in_two_launches<Op, reduce_kernel<Op, T>>(input, result, n, block);
}

// -----------------------------------------------------------------------------------------------------------
// What it starts from.

struct MinFrom0 : Min {
  template <class T>
  static __device__ T identity() {
    // MUTANT minimum_from_0: state=wrong kind=none diagnosis=foreign
    // Starts from 0, which is less than every positive number.
    return 0;
  }
};

// The maximum over the blocks by atomicMax, which integers have.
__global__ void maximum_from_0_kernel(const int* input, int* result, std::size_t n) {
  // MUTANT maximum_from_0: state=wrong kind=none diagnosis=foreign
  // Starts from 0, which is more than every negative number.
  int most = 0;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
    most = max(most, input[i]);
  }
  atomicMax(result, most);
}
void maximum_from_0(const int* input, int* result, std::size_t n, unsigned block) {
  const int start = INT_MIN;
  cudaMemcpy(result, &start, sizeof start, cudaMemcpyHostToDevice);
  maximum_from_0_kernel<<<lab::resident_blocks(block), block>>>(input, result, n);
}

struct MaxFromSmallest : Max {
  template <class T>
  static __device__ T identity() {
    // MUTANT maximum_from_flt_min: state=wrong kind=none diagnosis=foreign
    // FLT_MIN is the smallest float above 0, not the least float.
    return FLT_MIN;
  }
};

struct MaxFromMinus1000 : Max {
  template <class T>
  static __device__ T identity() {
    // MUTANT maximum_from_minus_1000: state=wrong kind=none diagnosis=foreign
    // Starts from a number that looks low enough.
    return -1000;
  }
};

struct MinFromLeast : Min {
  template <class T>
  static __device__ T identity() {
    // MUTANT minimum_from_least: state=wrong kind=none diagnosis=foreign
    // The identity of the maximum: nothing is less.
    return least<T>;
  }
};

struct MinFromIntMax : Min {
  template <class T>
  static __device__ T identity() {
    // MUTANT minimum_from_int_max: state=wrong kind=none diagnosis=wrong-identity
    // INT_MAX is the greatest int; a float may be greater.
    return static_cast<T>(INT_MAX);
  }
};

struct MaxFromLowest : Max {
  template <class T>
  static __device__ T identity() {
    // MUTANT maximum_from_lowest: state=wrong kind=none diagnosis=wrong-identity
    // The least finite float: the maximum of minus infinity alone, or of nothing, is less.
    return -FLT_MAX;
  }
};

struct ProductFrom0 : Product {
  template <class T>
  static __device__ T identity() {
    // MUTANT product_from_0: state=wrong kind=none diagnosis=foreign
    // A product that starts from 0 stays 0.
    return 0;
  }
};

template <class Op, class T>
__global__ void first_twice_kernel(const T* input, T* results, std::size_t n) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  T value = i < n ? input[i] : Op::template identity<T>();
  // MUTANT first_twice: state=wrong kind=none diagnosis=read-again
  // Each thread starts from its first element, and its walk begins with that element again.
  for (; i < n; i += threads) value = Op::combine(value, input[i]);
  value = reduce_block<Op>(value);
  if (threadIdx.x == 0) results[blockIdx.x] = value;
}

// -----------------------------------------------------------------------------------------------------------
// What becomes of two values.

struct Minus : Add {
  template <class T>
  static __device__ T combine(T a, T b) {
    // MUTANT subtracted: state=wrong kind=none diagnosis=subtracted
    // - where + is meant, in the walk and in each step.
    return a - b;
  }
};

struct MaxKeepsSmaller : Max {
  template <class T>
  static __device__ T combine(T a, T b) {
    // MUTANT maximum_keeps_smaller: state=wrong kind=none diagnosis=passed-over
    // The comparison is the wrong way round, so that the identity wins.
    return b < a ? b : a;
  }
};

struct MinTakesGreater : Max {
  template <class T>
  static __device__ T combine(T a, T b) {
    // MUTANT minimum_is_maximum: state=wrong kind=none diagnosis=passed-over
    // Copied from the maximum, identity and all.
    return a < b ? b : a;
  }
};

struct MaxOfSigned : Max {
  template <class T>
  static __device__ T combine(T a, T b) {
    // MUTANT unsigned_as_int: state=wrong kind=none diagnosis=passed-over
    // Unsigned numbers compared as signed ones: from 2^31 on they count as negative.
    return static_cast<int>(a) < static_cast<int>(b) ? b : a;
  }
};

struct MaxByMagnitude : Max {
  template <class T>
  static __device__ T combine(T a, T b) {
    // MUTANT maximum_of_magnitudes: state=wrong kind=none diagnosis=passed-over
    // Compares without the sign: minus infinity is the greatest of all.
    return fabsf(a) < fabsf(b) ? b : a;
  }
};

// A thread's walk over doubles in a float.
__global__ void value_in_float_kernel(const double* input, double* results, std::size_t n) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  // MUTANT value_in_float: state=wrong kind=none diagnosis=operation
  // float where the template's type T is meant.
  float value = least<float>;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
    value = Max::combine(value, static_cast<float>(input[i]));
  }
  const double most = reduce_block<Max>(static_cast<double>(value));
  if (threadIdx.x == 0) results[blockIdx.x] = most;
}

// The maximum of floats by an atomicMax on their bits: right for numbers from 0 on.
__global__ void maximum_of_bits_kernel(const float* input, int* result, std::size_t n) {
  const float most = reduce_block<Max>(walk_with<Max>(input, n));
  // MUTANT maximum_of_bits: state=wrong kind=none diagnosis=passed-over
  // A negative float's bits, as an int, are the greater the less the float is.
  if (threadIdx.x == 0) atomicMax(result, __float_as_int(most));
}
void maximum_of_bits(const float* input, float* result, std::size_t n, unsigned block) {
  const int start = INT_MIN;
  cudaMemcpy(result, &start, sizeof start, cudaMemcpyHostToDevice);
  const unsigned blocks = n == 0 ? 1 : lab::ceil_div(n, block);
  maximum_of_bits_kernel<<<blocks, block>>>(input, reinterpret_cast<int*>(result), n);
}

// -----------------------------------------------------------------------------------------------------------
// Warps and blocks.

template <class Op, class T>
__global__ void steps_from_8_kernel(const T* input, T* results, std::size_t n) {
  __shared__ T of_warps[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T value = walk_with<Op>(input, n);
  // MUTANT steps_from_8: state=wrong kind=none diagnosis=not-used
  // The shuffles reach 16 lanes of a warp's 32.
  for (unsigned distance = 8; distance > 0; distance /= 2) {
    value = Op::combine(value, __shfl_down_sync(lab::all_lanes, value, distance));
  }
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  if (warp != 0) return;
  value = reduce_warp<Op>(lane < blockDim.x / 32 ? of_warps[lane] : Op::template identity<T>());
  if (lane == 0) results[blockIdx.x] = value;
}

template <class Op, class T>
__global__ void all_places_kernel(const T* input, T* results, std::size_t n) {
  __shared__ T of_warps[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const T value = reduce_warp<Op>(walk_with<Op>(input, n));
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  if (warp != 0) return;
  // MUTANT identity_not_used: state=hazard|wrong kind=uninitialised diagnosis=any
  // Each lane reads a warp's value, also those for which there is no warp.
  const T most = reduce_warp<Op>(of_warps[lane]);
  if (lane == 0) results[blockIdx.x] = most;
}

template <class Op, class T>
__global__ void zero_for_missing_kernel(const T* input, T* results, std::size_t n) {
  __shared__ T of_warps[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T value = reduce_warp<Op>(walk_with<Op>(input, n));
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  if (warp != 0) return;
  // MUTANT zero_for_missing_warps: state=wrong kind=none diagnosis=foreign
  // Copied from a sum: lanes without a warp bring 0 along, whatever the operator.
  value = reduce_warp<Op>(lane < blockDim.x / 32 ? of_warps[lane] : T{0});
  if (lane == 0) results[blockIdx.x] = value;
}

template <class Op, class T>
__global__ void no_warp_leaves_kernel(const T* input, T* results, std::size_t n) {
  __shared__ T of_warps[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T value = reduce_warp<Op>(walk_with<Op>(input, n));
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  value = reduce_warp<Op>(lane < blockDim.x / 32 ? of_warps[lane] : Op::template identity<T>());
  // MUTANT every_warp_combines: state=off-technique kind=none diagnosis=none
  // Every warp, not the first alone, combines the warps' values, and all write the one result.
  if (lane == 0) results[blockIdx.x] = value;
}

__global__ void warps_added_kernel(const float* input, float* results, std::size_t n) {
  // MUTANT warps_added: state=wrong kind=none diagnosis=operation
  // Within a warp products, but the warps' values are added up. One block.
  const float value = reduce_block<Product, Add>(walk_with<Product>(input, n));
  if (threadIdx.x == 0) results[blockIdx.x] = value;
}
void warps_added(const float* input, float* result, std::size_t n, unsigned block) {
  warps_added_kernel<<<1, block>>>(input, result, n);
}

void adds_the_maxima(const int* input, int* result, std::size_t n, unsigned block) {
  const unsigned blocks = n == 0 ? 1 : lab::ceil_div(n, block);
  int* of_blocks = lab::scratch<int>(blocks);
  reduce_kernel<Max><<<blocks, block>>>(input, of_blocks, n);
  // MUTANT adds_the_maxima: state=wrong kind=none diagnosis=operation
  // The second launch adds up the blocks' maxima.
  reduce_kernel<Add><<<1, block>>>(of_blocks, result, blocks);
}

void results_of_32(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  float* of_blocks = lab::scratch<float>(blocks);
  reduce_kernel<Add><<<blocks, block>>>(input, of_blocks, n);
  // MUTANT results_of_32: state=wrong kind=none diagnosis=never-read
  // The second launch is one warp, and reduces as many results as it has lanes.
  reduce_kernel<Add><<<1, 32>>>(of_blocks, result, blocks < 32 ? blocks : 32);
}

__global__ void one_result_a_thread_kernel(const float* of_blocks, float* result, unsigned blocks) {
  // MUTANT one_result_a_thread: state=wrong kind=none diagnosis=never-read
  // The second launch does not walk: with more blocks than it has threads, the rest is left out.
  const float value = reduce_block<Add>(threadIdx.x < blocks ? of_blocks[threadIdx.x] : 0);
  if (threadIdx.x == 0) *result = value;
}
void one_result_a_thread(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  float* of_blocks = lab::scratch<float>(blocks);
  reduce_kernel<Add><<<blocks, block>>>(input, of_blocks, n);
  one_result_a_thread_kernel<<<1, block>>>(of_blocks, result, blocks);
}

// MUTANT one_launch_only: state=wrong kind=none diagnosis=never-read
// No second launch: the first block's result is taken for that of all.
void one_launch_only(const float* input, float* result, std::size_t n, unsigned block) {
  float* of_blocks = lab::scratch<float>(lab::resident_blocks(block));
  reduce_kernel<Add><<<lab::resident_blocks(block), block>>>(input, of_blocks, n);
  cudaMemcpy(result, of_blocks, sizeof(float), cudaMemcpyDeviceToDevice);
}

int main(int argc, char** argv) {
  using lab::Operator, lab::Rung, lab::Counter;
  const auto five_shuffles = lab::promised("06_operators", "max", Counter::shuffles);
  return lab::main(
      argc, argv,
      {Rung("minimum_from_0").on(reduce<MinFrom0, float>).on(reduce<MinFrom0, int>).with(Operator::min),
       Rung("maximum_from_0").on(maximum_from_0).with(Operator::max),
       Rung("maximum_from_flt_min").on(reduce<MaxFromSmallest, float>).with(Operator::max),
       Rung("maximum_from_minus_1000").on(reduce<MaxFromMinus1000, int>).with(Operator::max),
       Rung("minimum_from_least").on(reduce<MinFromLeast, float>).with(Operator::min),
       Rung("minimum_from_int_max").on(reduce<MinFromIntMax, float>).with(Operator::min),
       Rung("maximum_from_lowest").on(reduce<MaxFromLowest, float>).with(Operator::max),
       Rung("product_from_0").on(reduce<ProductFrom0, float>).with(Operator::product),
       Rung("first_twice").on(in_two_launches<Add, first_twice_kernel<Add, float>, float>),
       Rung("subtracted").on(reduce<Minus, float>).on(reduce<Minus, int>),
       Rung("maximum_keeps_smaller").on(reduce<MaxKeepsSmaller, float>).with(Operator::max),
       Rung("minimum_is_maximum").on(reduce<MinTakesGreater, float>).with(Operator::min),
       Rung("unsigned_as_int").on(reduce<MaxOfSigned, unsigned>).with(Operator::max),
       Rung("maximum_of_magnitudes").on(reduce<MaxByMagnitude, float>).with(Operator::max),
       Rung("value_in_float").on(in_two_launches<Max, value_in_float_kernel, double>).with(Operator::max),
       Rung("maximum_of_bits").on(maximum_of_bits).with(Operator::max),
       Rung("steps_from_8")
           .on(in_two_launches<Max, steps_from_8_kernel<Max, float>, float>)
           .with(Operator::max),
       Rung("identity_not_used")
           .on(in_two_launches<Max, all_places_kernel<Max, float>, float>)
           .with(Operator::max),
       Rung("zero_for_missing_warps")
           .on(in_two_launches<Product, zero_for_missing_kernel<Product, float>, float>)
           .with(Operator::product),
       Rung("every_warp_combines")
           .on(in_two_launches<Max, no_warp_leaves_kernel<Max, float>, float>)
           .with(Operator::max)
           .promise(five_shuffles),
       Rung("warps_added").on(warps_added).with(Operator::product),
       Rung("adds_the_maxima").on(adds_the_maxima).with(Operator::max),
       Rung("results_of_32").on(results_of_32),
       Rung("one_result_a_thread").on(one_result_a_thread),
       Rung("one_launch_only").on(one_launch_only)});
}
