// Lab 07: how wrong is a right sum?
//
// A float has 24 binary digits. An addition whose exact result needs more is rounded, by at most u = 2^-24 of
// the result. An element that goes through d additions on its way to the sum is rounded at most d times, so
// the whole sum is off by no more than about
//
//     d * u * (|x1| + |x2| + ... + |xn|).
//
// An algorithm can change d. Each rung below is checked against the bound for its own d, on numbers of many
// magnitudes and on one input made to cause trouble: 2^24 and then ones. From 2^24 on, floats are 2 apart,
// and 2^24 + 1 rounds back to 2^24: a float that adds up ones stops there, however many ones follow.
// (That is within its bound, too. A bound promises no more than it says.)
#include "lab.hpp"

// -----------------------------------------------------------------------------------------------------------
// One float, one addition after another, as in a loop on a CPU. d = n - 1. One thread is slow, so n is at
// most 2^20 here.

__global__ void sequential_float_kernel(const float* input, float* result, std::size_t n) {
  float sum = 0;
  // BEGIN sequential_float
  // TODO: Add up all n elements in `sum`, from the first to the last. (1 line)
  for (std::size_t i = 0; i < n; ++i) sum += input[i];
  // END sequential_float
  *result = sum;
}

void sequential_float(const float* input, float* result, std::size_t n, unsigned) {
  sequential_float_kernel<<<1, 1>>>(input, result, n);
}

// -----------------------------------------------------------------------------------------------------------
// A tree all the way up: no element goes through more additions than the tree has levels, log2(block) in each
// pass; d is the total over the passes. The partial sums that are added have about the same size, so ones add
// up without any loss.

__global__ void tree_float_kernel(const float* input, float* results, std::size_t n) {
  __shared__ float partial[1024];
  const unsigned t = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + t;
  partial[t] = i < n ? input[i] : 0;
  __syncthreads();
  // BEGIN tree_float
  // TODO: Halve the stride from half the block to 1: the threads below the stride add the element one stride
  // further on. Wait after each step. This is `sequential` of lab 02. (4 lines)
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    __syncthreads();
  }
  // END tree_float
  if (t == 0) results[blockIdx.x] = partial[0];
}

// Like many_pass of lab 02: the blocks' sums are the next pass's input until one is left.
void tree_float(const float* input, float* result, std::size_t n, unsigned block) {
  while (n > block) {
    const std::size_t blocks = lab::ceil_div(n, block);
    float* sums = lab::scratch<float>(blocks);
    tree_float_kernel<<<blocks, block>>>(input, sums, n);
    input = sums, n = blocks;
  }
  tree_float_kernel<<<1, block>>>(input, result, n);
}

// -----------------------------------------------------------------------------------------------------------
// Two rungs that keep more than 24 digits while they add up. They differ only in the accumulator.

// Kahan summation: besides the sum, it keeps the excess by which the last rounding made the sum too large.
// The next element is reduced by the excess before it is added. Each element is then off by at most 2 u,
// whatever n is, plus terms with u * u.
struct Kahan {
  float sum, excess; // the true sum is about sum - excess

  __device__ void add(float x) {
    // BEGIN kahan
    // TODO: Subtract `excess` from x: call the result `wanted`, which is what you want to add. Add it to
    // `sum`, but keep the old sum too: new sum - old sum is what was really added; call it `added`. The new
    // excess is added - wanted, and `sum` becomes the new sum. Any other compensated sum of floats that is
    // as accurate will do. (4 lines)
    const float wanted = x - excess;
    const float rounded = sum + wanted;
    excess = (rounded - sum) - wanted; // rounded - sum is what was really added
    sum = rounded;
    // END kahan
  }
  // Knuth's two-sum: exactly what the addition of two numbers of any size loses.
  __device__ void add(const Kahan& other) {
    const float rounded = sum + other.sum, second = rounded - sum, first = rounded - second;
    const float lost = (sum - first) + (other.sum - second);
    sum = rounded;
    excess += other.excess - lost;
  }
  __device__ float rounded() const { return sum - excess; }
};

// A double has 53 digits: its roundings are 2^29 times smaller. One rounding to float is left, at the end.
struct InDouble {
  double sum;

  __device__ void add(float x) {
    // BEGIN double_accumulator
    // TODO: Add x. The sum is a double, so this addition is done in double. (1 line)
    sum += x;
    // END double_accumulator
  }
  __device__ void add(const InDouble& other) {
    // BEGIN double_accumulator
    // TODO: Add the other's sum. (1 line)
    sum += other.sum;
    // END double_accumulator
  }
  __device__ float rounded() const { return static_cast<float>(sum); }
};

// Adds up the block's accumulators, in thread 0. `partial` has one element per thread.
template <class Accumulator>
__device__ Accumulator add_up(Accumulator own, Accumulator* partial) {
  const unsigned t = threadIdx.x;
  partial[t] = own;
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (t < stride) partial[t].add(partial[t + stride]);
    __syncthreads();
  }
  return partial[0];
}

template <class Accumulator>
__global__ void accumulate_kernel(const float* input, Accumulator* of_blocks, std::size_t n) {
  __shared__ Accumulator partial[1024];
  Accumulator own{};
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    own.add(input[i]);
  }
  own = add_up(own, partial);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = own;
}

template <class Accumulator>
__global__ void finish_kernel(const Accumulator* of_blocks, unsigned blocks, float* result) {
  __shared__ Accumulator partial[1024];
  Accumulator own{};
  for (unsigned i = threadIdx.x; i < blocks; i += blockDim.x) own.add(of_blocks[i]);
  own = add_up(own, partial);
  if (threadIdx.x == 0) *result = own.rounded();
}

template <class Accumulator>
void accumulate(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  Accumulator* of_blocks = lab::scratch<Accumulator>(blocks);
  accumulate_kernel<<<blocks, block>>>(input, of_blocks, n);
  finish_kernel<<<1, block>>>(of_blocks, blocks, result);
}

// -----------------------------------------------------------------------------------------------------------
// The same bits on every run, on every GPU, with any number of threads per block.
//
// Float addition is not associative: another order may change the last digit. So the algorithm must fix the
// order, not the launch. Here element i always belongs to chain i % chains. A chain is added up in order, 32
// neighbouring chains are added by a warp's shuffles, and the warps' sums by a tree that has the same shape
// whichever threads work on it.

constexpr unsigned chains = 1 << 16, chain_sums = chains / 32;

__global__ void chains_kernel(const float* input, float* sums, std::size_t n) {
  const unsigned chain = blockIdx.x * blockDim.x + threadIdx.x;
  if (chain >= chains) return; // whole warps only: chains is a multiple of 32
  float sum = 0;
  // BEGIN fixed_order
  // TODO: Add up this chain in order: elements chain, chain + chains, chain + 2 * chains and so on below n.
  // (1 line)
  for (std::size_t i = chain; i < n; i += chains) sum += input[i];
  // END fixed_order
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(lab::all_lanes, sum, distance);
  }
  if (threadIdx.x % 32 == 0) sums[chain / 32] = sum;
}

// One block, which may have fewer threads than a level of the tree has additions.
__global__ void fixed_tree_kernel(const float* sums, float* result) {
  __shared__ float partial[chain_sums];
  const unsigned t = threadIdx.x;
  for (unsigned i = t; i < chain_sums; i += blockDim.x) partial[i] = sums[i];
  __syncthreads();
  // BEGIN fixed_order
  // TODO: Write the tree of tree_float over chain_sums values. The block may have fewer threads than the
  // stride, so let thread t do additions t, t + blockDim.x, t + 2 * blockDim.x and so on of each step. Wait
  // after each step. (4 lines)
  for (unsigned stride = chain_sums / 2; stride > 0; stride /= 2) {
    for (unsigned i = t; i < stride; i += blockDim.x) partial[i] += partial[i + stride];
    __syncthreads();
  }
  // END fixed_order
  if (t == 0) *result = partial[0];
}

void fixed_order(const float* input, float* result, std::size_t n, unsigned block) {
  float* sums = lab::scratch<float>(chain_sums);
  chains_kernel<<<lab::ceil_div(chains, block), block>>>(input, sums, n);
  fixed_tree_kernel<<<1, block>>>(sums, result);
}

int main(int argc, char** argv) {
  return lab::main(argc, argv,
                   {
                       {"sequential_float", sequential_float},
                       {"tree_float", tree_float},
                       {"kahan", accumulate<Kahan>},
                       {"double_accumulator", accumulate<InDouble>},
                       {"fixed_order", fixed_order},
                   });
}
