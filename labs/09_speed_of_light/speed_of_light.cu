// Lab 09: the speed of light.
//
// A sum reads each element once, so it cannot take less time than the reading does: the bytes divided by the
// bandwidth of the memory, plus the time to start a kernel at all. Four rungs approach that limit. Little's
// law says how: the bytes in flight at any moment must be the bandwidth times the latency, some 4 MB on a
// large GPU. What a thread has in flight is limited by the width of its loads, and by the number of loads
// that it starts before it waits.
//
//   vectorised   16 bytes per load
//   one_wave     several loads in flight per thread, and no more blocks than the GPU holds at once
//   last_block   one launch, no addition with atomics: the block that finishes last adds up the others' sums
//   champion     the same, but done sooner after the last load, on a grid chosen for n; compare it with CUB
//
// A sum in a fixed order has the same bits each time. In the last two rungs, the order depends on n, on the
// number of multiprocessors and on the input's alignment, but not on which block was faster.
#include "lab.hpp"

#include <cstdint>
#include <cstring>

// ---- shared by all rungs ---------------------------------------------------------------------------------

struct Add {
  template <class T>
  static __device__ T identity() {
    return T(0);
  }
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

// The champion is also tried with this operator: it must take the identity and the combination from the
// operator that it is given.
struct BitwiseAnd {
  template <class T>
  static __device__ T identity() {
    return ~T(0);
  }
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a & b;
  }
};

// Combines the values of the warp's lanes; all lanes get the result.
template <class T, class Operator>
__device__ T warp_reduce(T value, Operator combine) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffff, value, distance));
  }
  return value;
}

// Combines the values of the block; all lanes of warp 0 get the result. Do not use what the other warps get.
// It passes one barrier. `partial` must hold 32 values, and no other call may use it.
template <class T, class Operator>
__device__ T block_reduce(T value, T* partial, Operator combine) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_reduce(value, combine);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < blockDim.x / 32 ? partial[lane] : Operator::template identity<T>();
    value = warp_reduce(value, combine);
  }
  return value;
}

// 16 bytes: the most that one load instruction reads per thread.
template <class T>
struct alignas(16) Vector {
  static constexpr unsigned size = 16 / sizeof(T);
  T element[size];
};

// One 16-byte load that bypasses L1, since the stream is read only once, and that L2 may evict first of
// all.
template <class T>
__device__ Vector<T> load(const Vector<T>* from) {
  const uint4 raw = __ldcs(reinterpret_cast<const uint4*>(from));
  Vector<T> vector;
  memcpy(&vector, &raw, sizeof(raw));
  return vector;
}

// A load of 16 bytes needs an address that is a multiple of 16. An array of T may start in between: then up
// to size - 1 elements (the head) come before the first such address, and up to size - 1 elements (the tail)
// come after the last whole vector.
template <class T>
struct Pieces {
  const T* head;
  unsigned head_size;
  const Vector<T>* vectors;
  std::size_t count; // of vectors
  const T* tail;
  unsigned tail_size;

  __device__ Pieces(const T* input, std::size_t n) : head(input) {
    head_size = -reinterpret_cast<std::uintptr_t>(input) % 16 / sizeof(T);
    if (head_size > n) head_size = n;
    vectors = reinterpret_cast<const Vector<T>*>(input + head_size);
    count = (n - head_size) / Vector<T>::size;
    tail = input + head_size + count * Vector<T>::size;
    tail_size = (n - head_size) % Vector<T>::size;
  }

  // This thread's elements of the head and the tail, if a block takes them thread by thread. They are two
  // values, so that nothing waits for them until they are used.
  __device__ T of_head(T identity) const { return threadIdx.x < head_size ? head[threadIdx.x] : identity; }
  __device__ T of_tail(T identity) const { return threadIdx.x < tail_size ? tail[threadIdx.x] : identity; }
};

template <class T, class Operator>
__device__ T fold(Vector<T> vector, Operator combine) {
  if constexpr (Vector<T>::size == 2) {
    return combine(vector.element[0], vector.element[1]);
  } else {
    return combine(combine(vector.element[0], vector.element[1]),
                   combine(vector.element[2], vector.element[3]));
  }
}

// ---- vectorised ------------------------------------------------------------------------------------------

// One thread per vector: a quarter of the load instructions, and each warp asks for 512 contiguous bytes at
// once.
__global__ void vectorised_kernel(const float* input, float* result, std::size_t n) {
  __shared__ float partial[32];
  const Pieces<float> pieces(input, n);
  float value = blockIdx.x == 0 ? pieces.of_head(0.0f) + pieces.of_tail(0.0f) : 0.0f;
  // BEGIN vectorised
  // TODO: Let this thread add one vector to value: the one whose index is the thread's number in the whole
  // grid, if there is such a vector. load() reads a vector, fold() adds up its elements. (2 lines)
  // END vectorised
  value = block_reduce(value, partial, Add());
  if (threadIdx.x == 0) atomicAdd(result, value);
}

void vectorised(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemsetAsync(result, 0, sizeof(float));
  vectorised_kernel<<<lab::ceil_div(n / 4 + 1, block), block>>>(input, result, n);
}

// ---- one_wave --------------------------------------------------------------------------------------------

// The sum of this thread's vectors. A thread that waits for each load before it starts the next has 16
// bytes in flight; one that starts four loads before it adds has 64. The grid's threads read side by side at
// every step, so that the loads of a warp stay contiguous. There are fewer than 2^32 vectors.
__device__ float strided_sum(const Pieces<float>& pieces) {
  float value = 0.0f;
  // BEGIN one_wave
  // TODO: Let this thread add every vector whose index is its own number in the grid plus a multiple of the
  // number of threads in the grid. Load four of them into an array before you add the first, as long as four
  // are left; then add the remaining ones one by one. `#pragma unroll` before a loop over the four keeps the
  // array in registers. (9 lines)
  // END one_wave
  return value;
}

__global__ void one_wave_kernel(const float* input, float* result, std::size_t n) {
  __shared__ float partial[32];
  const Pieces<float> pieces(input, n);
  float value = blockIdx.x == 0 ? pieces.of_head(0.0f) + pieces.of_tail(0.0f) : 0.0f;
  value = block_reduce(value + strided_sum(pieces), partial, Add());
  if (threadIdx.x == 0) atomicAdd(result, value);
}

// As many blocks as the GPU holds at the same time, or fewer if there is not enough work for them.
unsigned wave_for(std::size_t n, unsigned block) {
  unsigned blocks = 1;
  // BEGIN one_wave
  // TODO: Set blocks to the smaller of two numbers: what lab::resident_blocks(block) returns, and the number
  // of blocks that gives every vector (n / 4 of them) a thread, but at least 1: head and tail need a block
  // even if there is no vector. (2 lines)
  // END one_wave
  return blocks;
}

void one_wave(const float* input, float* result, std::size_t n, unsigned block) {
  cudaMemsetAsync(result, 0, sizeof(float));
  one_wave_kernel<<<wave_for(n, block), block>>>(input, result, n);
}

// ---- last_block ------------------------------------------------------------------------------------------

// The number of blocks of this launch that have left their sum. atomicInc() sets it back to 0 at the last
// one, so that every launch finds 0 and needs no memset before it. Two launches at the same time, in two
// streams, would need two such counters.
__device__ unsigned blocks_done;

// Builds on one_wave: strided_sum() and wave_for() are your own from there.
__global__ void last_block_kernel(const float* input, float* result, std::size_t n, float* sums) {
  __shared__ float partial[32];
  const Pieces<float> pieces(input, n);
  float value = blockIdx.x == 0 ? pieces.of_head(0.0f) + pieces.of_tail(0.0f) : 0.0f;
  value = block_reduce(value + strided_sum(pieces), partial, Add());
  // BEGIN last_block
  // TODO: Let thread 0 store the block's sum in sums[], call a fence (__threadfence), so that a block that
  // sees another one counted also sees its sum, and count the block: atomicInc(&blocks_done, gridDim.x - 1)
  // returns how many were counted before. It calls a fence again before the sums are read. The block that
  // finds all others counted adds up sums[] with all its threads, always in the same order, and writes the
  // result. Make sure that all threads of a block agree whether it is the last, and that block_reduce() does
  // not get the shared memory of its first call while some warps may still be reading that. (12 lines)
  // END last_block
}

void last_block(const float* input, float* result, std::size_t n, unsigned block) {
  const unsigned blocks = wave_for(n, block);
  last_block_kernel<<<blocks, block>>>(input, result, n, lab::scratch<float>(blocks));
}

// ---- champion --------------------------------------------------------------------------------------------

// After the last load, a block of last_block waits for three trips to L2, one after the other: the fence, the
// atomic, and the reading of the sums. Here it waits for only one. A block takes its ticket when it starts,
// while its loads are in flight; the block with the last ticket will finish. And a sum travels in one 8-byte
// word together with a mark that it is there, so that no fence has to keep two writes in order: the finisher
// polls the words until each is marked. It waits only for blocks that have started, so it cannot wait for
// ever. It leaves all words 0 for the next launch.
//
// Only one launch at a time may use a workspace. Launches in several streams may run at the same time, so
// each stream needs its own.
constexpr unsigned most_blocks = 16384, most_streams = 4;
enum : unsigned long long { present = 1ull << 32 }; // the mark
struct Workspace {
  unsigned long long words[2 * most_blocks]; // a value of 8 bytes takes two words, both marked
  unsigned blocks_started;
};
__device__ Workspace workspaces[most_streams]; // all 0

// The number of words that a thread of the finisher has in flight. With one trip to L2 per word, thousands of
// them would take longer than everything else; more than a few would take registers that the loads need.
template <class T>
constexpr unsigned words_under_way = sizeof(T) == 4 ? 5 : 2;

// The bits of a value, 4 bytes at a time.
template <class T>
struct Halves {
  unsigned half[sizeof(T) / 4];

  Halves() = default;
  __device__ explicit Halves(T value) { memcpy(half, &value, sizeof(T)); }
  __device__ T value() const {
    T whole;
    memcpy(&whole, half, sizeof(T));
    return whole;
  }
};

template <class T>
__device__ void leave(T value, unsigned long long* words) {
  // BEGIN champion
  // TODO: Thread 0 calls this. Store value, or each half of it, in its own word with the mark `present`:
  // there are sizeof(T) / 4 words per block, laid out as you like (your collect() reads them). A reader that
  // sees the mark must see the value with it, so write each word with one 8-byte store through a pointer to
  // volatile, which the compiler neither splits nor omits. (4 lines)
  // END champion
}

// The values that all blocks left, combined by `collectors` threads, always in the same order.
template <class T, class Operator>
__device__ T collect(unsigned collectors, Operator combine, unsigned long long* words) {
  T total = Operator::template identity<T>();
  // BEGIN champion
  // TODO: Combine the values of all blocks of this launch into total. Wait for each word until it is marked,
  // and set it back to 0. Read words_under_way<T> words (one block's value takes sizeof(T) / 4 of them)
  // before you wait for the first one. (20 lines)
  // END champion
  return total;
}

// This thread's vectors: tile after tile of threads x loads vectors, with all of a tile's loads in flight
// before the first value is used. In the last, ragged tile, each load has its own condition, so that these
// loads are in flight together too.
template <unsigned threads, unsigned loads, class T, class Operator>
__device__ T tiles_sum(const Pieces<T>& pieces, Operator combine) {
  const T identity = Operator::template identity<T>();
  T even = identity, odd = identity;
  if (blockIdx.x == gridDim.x - 1) even = pieces.of_head(identity), odd = pieces.of_tail(identity);
  // BEGIN champion
  // TODO: Combine the vectors of this block's tiles (number blockIdx.x, then every gridDim.x-th) into even
  // and odd. A tile has threads * loads vectors, and a thread's vectors in it are `threads` apart. Start all
  // loads of a tile before you use the first value, in the last, ragged tile too. (24 lines)
  // END champion
  return combine(even, odd);
}

template <unsigned threads, unsigned loads, class T, class Operator>
__global__ void __launch_bounds__(threads)
    champion_kernel(const T* input, T* result, std::size_t n, Operator combine, unsigned workspace) {
  __shared__ T partial[32], partial_of_sums[32];
  __shared__ unsigned shared_ticket;
  unsigned ticket = 0;
  if (threadIdx.x == 0 && gridDim.x > 1)
    ticket = atomicInc(&workspaces[workspace].blocks_started, gridDim.x - 1);
  T value = tiles_sum<threads, loads>(Pieces<T>(input, n), combine);
  value = block_reduce(value, partial, combine);
  if (gridDim.x > 1) {
    if (threadIdx.x == 0) leave(value, workspaces[workspace].words);
    // A single warp collects a few words fastest, because it needs no barrier.
    const bool few = gridDim.x <= 32 * words_under_way<T>;
    if (few) {
      if (threadIdx.x >= 32) return;
      ticket = __shfl_sync(0xffffffff, ticket, 0);
    } else {
      if (threadIdx.x == 0) shared_ticket = ticket;
      __syncthreads();
      ticket = shared_ticket;
    }
    if (ticket != gridDim.x - 1) return;
    value = collect<T>(few ? 32 : threads, combine, workspaces[workspace].words);
    value = few ? warp_reduce(value, combine) : block_reduce(value, partial_of_sums, combine);
  }
  if (threadIdx.x == 0) *result = value;
}

template <unsigned threads, unsigned loads, class T, class Operator>
void launch_champion(const T* input, T* result, std::size_t n, Operator combine, unsigned workspace,
                     cudaStream_t stream) {
  const std::size_t tiles = lab::ceil_div(n / Vector<T>::size, threads * loads);
  // More blocks than fit at once, if there is enough work: a multiprocessor that is done sooner than the
  // others takes another block, which balances the load better than a fixed share each. But every block costs
  // the finisher a word.
  std::size_t blocks = 64 * 4 / sizeof(T) * lab::multiprocessors();
  if (blocks > most_blocks) blocks = most_blocks;
  if (blocks > tiles) blocks = tiles;
  if (blocks == 0) blocks = 1;
  champion_kernel<threads, loads><<<blocks, threads, 0, stream>>>(input, result, n, combine, workspace);
}

// For few elements, small blocks: otherwise most multiprocessors would have nothing to do. For many, large
// blocks: there are fewer words to collect. But values of 8 bytes take more registers, so only one block of
// 1024 threads would fit on a multiprocessor, and none of them would read while the block adds up.
template <class T, class Operator>
void reduce(const T* input, T* result, std::size_t n, Operator combine, unsigned workspace = 0,
            cudaStream_t stream = nullptr) {
  if (n * sizeof(T) <= std::size_t{16} << 20) {
    launch_champion<256, 8>(input, result, n, combine, workspace, stream);
  } else {
    launch_champion<sizeof(T) == 4 ? 1024 : 512, 4>(input, result, n, combine, workspace, stream);
  }
}

// Chooses its number of threads per block itself, whatever `block` is.
template <class T, class Operator = Add>
void champion(const T* input, T* result, std::size_t n, unsigned) {
  reduce(input, result, n, Operator());
}

int main(int argc, char** argv) {
  return lab::main(argc, argv,
                   {
                       {"vectorised", vectorised},
                       {"one_wave", one_wave},
                       {"last_block", last_block},
                       {"champion", champion<float>, champion<double>, champion<int>, champion<unsigned>,
                        lab::Variant(champion<unsigned, BitwiseAnd>).tried_with(lab::Operator::bitwise_and)},
                   });
}
