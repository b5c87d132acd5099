// Lab 07: what is rounded, and in which order.
#include "parts.cuh"

// -----------------------------------------------------------------------------------------------------------
// One float, and a tree of floats.

__global__ void several_threads_kernel(const float* input, float* result, std::size_t n) {
  float sum = 0;
  for (std::size_t i = threadIdx.x; i < n; i += blockDim.x) sum += input[i];
  // MUTANT sequential_of_a_warp: state=off-technique kind=none diagnosis=none
  // Right, but 32 threads share the additions that one thread should do in order.
  sum = warp_sum(sum);
  if (threadIdx.x == 0) *result = sum;
}
void sequential_of_a_warp(const float* input, float* result, std::size_t n, unsigned) {
  several_threads_kernel<<<1, 32>>>(input, result, n);
}

__global__ void from_the_last_kernel(const float* input, float* result, std::size_t n) {
  float sum = 0;
  // MUTANT from_the_last: state=off-technique kind=none diagnosis=none
  // Right, but the elements are added in the reverse order, which rounds otherwise.
  for (std::size_t i = n; i > 0; --i) sum += input[i - 1];
  *result = sum;
}
void from_the_last(const float* input, float* result, std::size_t n, unsigned) {
  from_the_last_kernel<<<1, 1>>>(input, result, n);
}

__global__ void neighbours_kernel(const float* input, float* results, std::size_t n) {
  __shared__ float partial[1024];
  const unsigned t = threadIdx.x;
  partial[t] = own_element(input, n);
  __syncthreads();
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    // MUTANT tree_of_neighbours: state=off-technique kind=none diagnosis=none
    // Right, but the stride doubles: the threads that work lie ever further apart.
    const unsigned place = 2 * stride * t;
    if (place + stride < blockDim.x) partial[place] += partial[place + stride];
    __syncthreads();
  }
  if (t == 0) results[blockIdx.x] = partial[0];
}

// Passes of `kernel` until one sum is left.
template <Kernel kernel>
void in_passes(const float* input, float* result, std::size_t n, unsigned block) {
  while (n > block) {
    const std::size_t blocks = lab::ceil_div(n, block);
    float* sums = lab::scratch<float>(blocks);
    kernel<<<blocks, block>>>(input, sums, n);
    input = sums, n = blocks;
  }
  kernel<<<1, block>>>(input, result, n);
}

__global__ void walk_kernel(const float* input, float* results, std::size_t n) {
  __shared__ float partial[1024];
  // MUTANT walk_before_the_tree: state=wrong kind=none diagnosis=stalled
  // Each thread walks over the input before the tree: its one float stops counting.
  const float sum = tree_sum(walk(input, n), partial);
  if (threadIdx.x == 0) results[blockIdx.x] = sum;
}
void walk_before_the_tree(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  float* sums = lab::scratch<float>(blocks);
  walk_kernel<<<blocks, block>>>(input, sums, n);
  walk_kernel<<<1, block>>>(sums, result, blocks);
}

// -----------------------------------------------------------------------------------------------------------
// Accumulators. Each is Kahan's or a double with one mistake.

struct Kahan {
  float sum, excess; // the true sum is about sum - excess

  __device__ void add(float x) {
    const float wanted = x - excess, rounded = sum + wanted;
    excess = (rounded - sum) - wanted;
    sum = rounded;
  }
  // What the addition of the two sums loses.
  __device__ float lost_with(const Kahan& other) const {
    const float rounded = sum + other.sum, second = rounded - sum, first = rounded - second;
    return (sum - first) + (other.sum - second);
  }
  __device__ void add(const Kahan& other) {
    excess += other.excess - lost_with(other);
    sum += other.sum;
  }
  __device__ float rounded() const { return sum - excess; }
};

struct ExcessAdded : Kahan {
  using Kahan::add;
  __device__ void add(float x) {
    // MUTANT excess_added: state=wrong kind=none diagnosis=stalled
    // The excess is added to the next element, not taken off it.
    const float wanted = x + excess, rounded = sum + wanted;
    excess = (rounded - sum) - wanted;
    sum = rounded;
  }
};

struct ExcessOfTheElement : Kahan {
  using Kahan::add;
  __device__ void add(float x) {
    const float wanted = x - excess, rounded = sum + wanted;
    // MUTANT excess_forgets: state=wrong kind=none diagnosis=stalled
    // What was lost is reckoned against x, not against x less the excess so far.
    excess = (rounded - sum) - x;
    sum = rounded;
  }
};

struct ExcessOverwritten : Kahan {
  using Kahan::add;
  __device__ void add(float x) {
    const float wanted = x - excess;
    // MUTANT sum_overwritten_first: state=wrong kind=none diagnosis=added-again
    // The sum is overwritten before the excess is worked out from it: each element counts in the sum and, as
    // excess, once more.
    sum = sum + wanted;
    excess = (sum - sum) - wanted;
  }
};

struct ExcessNever : Kahan {
  using Kahan::add;
  __device__ void add(float x) {
    const float wanted = x - excess, rounded = sum + wanted;
    // MUTANT excess_always_0: state=wrong kind=none diagnosis=stalled
    // The brackets are wrong: the difference of two equal numbers is 0.
    excess = rounded - (sum + wanted);
    sum = rounded;
  }
};

struct ExcessDropped : Kahan {
  using Kahan::add;
  // MUTANT excess_dropped: state=wrong kind=none diagnosis=rounded-in-tree?
  // Kahan's for each thread, and plain additions where the threads' sums come together.
  __device__ void add(const ExcessDropped& other) { sum += other.sum; }
};

struct LostAdded : Kahan {
  using Kahan::add;
  // MUTANT lost_with_wrong_sign: state=wrong kind=none diagnosis=wrong-sign?
  // What two sums lose is taken for excess: it is the opposite.
  __device__ void add(const LostAdded& other) {
    excess += other.excess + lost_with(other);
    sum += other.sum;
  }
};

struct ExcessAtTheEnd : Kahan {
  // MUTANT excess_added_at_the_end: state=wrong kind=none diagnosis=wrong-sign?
  // The excess is added at the end, and was too much to begin with.
  __device__ float rounded() const { return sum + excess; }
};

struct InDouble {
  double sum;

  __device__ void add(float x) { sum += x; }
  __device__ void add(const InDouble& other) { sum += other.sum; }
  __device__ float rounded() const { return static_cast<float>(sum); }
};

struct RoundedEachTime : InDouble {
  using InDouble::add;
  __device__ void add(float x) {
    // MUTANT rounded_each_time: state=wrong kind=none diagnosis=stalled
    // A double that is rounded to float after each addition.
    sum = static_cast<float>(sum + x);
  }
};

struct FloatInShared {
  // MUTANT floats_in_shared: state=wrong kind=none diagnosis=rounded-in-tree?
  // A double for each thread, but the sums lie in shared memory as floats: each step of the tree rounds.
  float sum;

  __device__ void add(const FloatInShared& other) { sum += other.sum; }
  __device__ float rounded() const { return sum; }
};
struct DoubleOfAThread : InDouble {
  __device__ operator FloatInShared() const { return {rounded()}; }
};

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

// Own: what a thread adds up in. Accumulator: what threads and blocks leave for each other.
template <class Accumulator, class Own>
__global__ void accumulate_kernel(const float* input, Accumulator* of_blocks, std::size_t n) {
  __shared__ Accumulator partial[1024];
  Own own{};
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    own.add(input[i]);
  }
  const Accumulator sum = add_up<Accumulator>(own, partial);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = sum;
}

template <class Accumulator>
__global__ void finish_kernel(const Accumulator* of_blocks, unsigned blocks, float* result) {
  __shared__ Accumulator partial[1024];
  Accumulator own{};
  for (unsigned i = threadIdx.x; i < blocks; i += blockDim.x) own.add(of_blocks[i]);
  own = add_up(own, partial);
  if (threadIdx.x == 0) *result = own.rounded();
}

template <class Accumulator, class Own = Accumulator>
void accumulate(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  Accumulator* of_blocks = lab::scratch<Accumulator>(blocks);
  accumulate_kernel<Accumulator, Own><<<blocks, block>>>(input, of_blocks, n);
  finish_kernel<<<1, block>>>(of_blocks, blocks, result);
}

// -----------------------------------------------------------------------------------------------------------
// The same order each time, with any number of threads per block.

constexpr unsigned chains = 1 << 16, chain_sums = chains / 32;

// The chain's sum, and those of the 31 chains beside it, in lane 0.
__device__ float chain_sum(const float* input, std::size_t n, unsigned chain, unsigned all_chains) {
  float sum = 0;
  for (std::size_t i = chain; i < n; i += all_chains) sum += input[i];
  return warp_sum(sum);
}

__global__ void fixed_chains_kernel(const float* input, float* sums, std::size_t n) {
  const unsigned chain = blockIdx.x * blockDim.x + threadIdx.x;
  if (chain >= chains) return;
  const float sum = chain_sum(input, n, chain, chains);
  if (threadIdx.x % 32 == 0) sums[chain / 32] = sum;
}

// The sums of all chains, by a tree that has the same shape whoever works at it.
__global__ void fixed_tree_kernel(const float* sums, float* result) {
  __shared__ float partial[chain_sums];
  const unsigned t = threadIdx.x;
  for (unsigned i = t; i < chain_sums; i += blockDim.x) partial[i] = sums[i];
  __syncthreads();
  for (unsigned stride = chain_sums / 2; stride > 0; stride /= 2) {
    for (unsigned i = t; i < stride; i += blockDim.x) partial[i] += partial[i + stride];
    __syncthreads();
  }
  if (t == 0) *result = partial[0];
}

__global__ void chains_by_atomics_kernel(const float* input, float* result, std::size_t n) {
  const unsigned chain = blockIdx.x * blockDim.x + threadIdx.x;
  if (chain >= chains) return;
  const float sum = chain_sum(input, n, chain, chains);
  // MUTANT chains_by_atomics: state=wrong|off-technique kind=none diagnosis=none
  // The warps' sums are added up in the order in which the blocks come.
  if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}
void chains_by_atomics(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemset(result, 0, sizeof(float));
  chains_by_atomics_kernel<<<lab::ceil_div(chains, block), block>>>(input, result, n);
}

__global__ void chains_of_the_grid_kernel(const float* input, float* sums, std::size_t n) {
  const unsigned chain = blockIdx.x * blockDim.x + threadIdx.x;
  // MUTANT chains_of_the_grid: state=wrong kind=none diagnosis=none
  // As many chains as the grid has threads, which depends on the threads per block.
  const float sum = chain_sum(input, n, chain, gridDim.x * blockDim.x);
  if (threadIdx.x % 32 == 0) sums[chain / 32] = sum;
}
void chains_of_the_grid(const float* input, float* result, std::size_t n, unsigned block) {
  float* sums = lab::scratch<float>(chain_sums);
  cudaMemset(sums, 0, chain_sums * sizeof(float));
  chains_of_the_grid_kernel<<<64, block>>>(input, sums, n);
  fixed_tree_kernel<<<1, block>>>(sums, result);
}

__global__ void tree_of_the_block_kernel(const float* sums, float* result) {
  __shared__ float partial[1024];
  float sum = 0;
  // MUTANT tree_of_the_block: state=wrong kind=none diagnosis=none
  // A thread's walk over the chains' sums, and a tree over the threads: their number sets the order.
  for (unsigned i = threadIdx.x; i < chain_sums; i += blockDim.x) sum += sums[i];
  sum = tree_sum(sum, partial);
  if (threadIdx.x == 0) *result = sum;
}
void tree_of_the_block(const float* input, float* result, std::size_t n, unsigned block) {
  float* sums = lab::scratch<float>(chain_sums);
  fixed_chains_kernel<<<lab::ceil_div(chains, block), block>>>(input, sums, n);
  const bool is_power_of_two = (block & (block - 1)) == 0;
  tree_of_the_block_kernel<<<1, is_power_of_two ? block : 32>>>(sums, result);
}

// The depths and promises are lab 07's.
constexpr const char* lab07 = "07_precision"; // whose bounds hold for its mutants, too

template <class Accumulator>
lab::Rung kahan(const char* name) {
  return lab::Rung(name)
      .on(accumulate<Accumulator>)
      .meets_stalling()
      .same_bits()
      .depth(lab::promised(lab07, "kahan").error_depth);
}
template <class Accumulator, class Own>
lab::Rung in_double(const char* name) {
  return lab::Rung(name)
      .on(accumulate<Accumulator, Own>)
      .meets_stalling()
      .same_bits()
      .depth(lab::promised(lab07, "double_accumulator").error_depth);
}

int main(int argc, char** argv) {
  using lab::Counter, lab::Rung;
  const Rung alone = lab::promised(lab07, "sequential_float"), tree = lab::promised(lab07, "tree_float"),
             chains = lab::promised(lab07, "fixed_order");
  const auto no_atomic = lab::promised(lab07, "fixed_order", Counter::atomic_operations);
  const auto halving = lab::promised(lab07, "tree_float", Counter::bank_conflicts);
  return lab::main(
      argc, argv,
      {Rung("sequential_of_a_warp")
           .on(sequential_of_a_warp)
           .meets_stalling()
           .same_bits()
           .up_to(alone.max_n)
           .promise(lab::promised(lab07, "sequential_float", Counter::elements_read))
           .promise(lab::promised(lab07, "sequential_float", Counter::simt_efficiency)),
       Rung("from_the_last")
           .on(from_the_last)
           .same_bits()
           .up_to(alone.max_n)
           .adds_like(alone.in_order, alone.order_in_words),
       Rung("tree_of_neighbours")
           .on(in_passes<neighbours_kernel>)
           .meets_stalling()
           .depth(tree.error_depth)
           .promise(halving),
       Rung("walk_before_the_tree")
           .on(walk_before_the_tree)
           .meets_stalling()
           .depth(tree.error_depth)
           .promise(halving),
       kahan<ExcessAdded>("excess_added"), kahan<ExcessOfTheElement>("excess_forgets"),
       kahan<ExcessOverwritten>("sum_overwritten_first"), kahan<ExcessNever>("excess_always_0"),
       kahan<ExcessDropped>("excess_dropped"), kahan<LostAdded>("lost_with_wrong_sign"),
       kahan<ExcessAtTheEnd>("excess_added_at_the_end"),
       in_double<RoundedEachTime, RoundedEachTime>("rounded_each_time"),
       in_double<FloatInShared, DoubleOfAThread>("floats_in_shared"),
       Rung("chains_by_atomics")
           .on(chains_by_atomics)
           .same_bits_for_any_block()
           .depth(chains.error_depth)
           .promise(no_atomic),
       Rung("chains_of_the_grid").on(chains_of_the_grid).same_bits_for_any_block().depth(chains.error_depth),
       Rung("tree_of_the_block").on(tree_of_the_block).same_bits_for_any_block().depth(chains.error_depth)});
}
