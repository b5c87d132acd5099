// Lab 13: softmax.
//
// A reduction in real use is seldom one sum. Softmax turns each row of a matrix of scores into weights that
// add up to 1: exp(x - maximum) divided by the sum of all exp(x - maximum), where the maximum is the row's
// own. So a row has two reductions, and then it is used again. The arithmetic costs little: what counts is
// how often the row goes through memory.
//
//   three_reads    a block per row: the maximum, the sum, the quotients
//   online         maximum and sum in one pass, as one value with an operator of its own
//   kept           the row stays in registers between the reductions and the quotients
//   cluster        longer rows: several blocks share a row, and read each other's shared memory
//   bulk_copies    rows come and go by bulk copies, while the block works on another one
//   longest_rows   rows that fit nowhere on the chip: so few at a time that the second read finds them in L2
//   ones_matrix    sums of rows of bfloat16 by matrix multiplications, with a matrix of ones
//   rms_norm       the exam: another function of rows, of which only the formula is given
//
// -inf stands for a masked element, whose weight is 0. A row that is masked as a whole becomes NaN (0 / 0),
// and so does a row with a NaN.
#include "compute_90.cuh"
#include "lab.hpp"

#include <cuda_bf16.h>

// ---- shared by all rungs ---------------------------------------------------------------------------------

constexpr float infinity = INFINITY;

// Of a block that keeps a row. With 512 threads, each may have 128 of a multiprocessor's 65,536 registers,
// which the compiler must know.
constexpr unsigned most_threads = 512;

// exp(x) by the hardware's unit for 2^x. Its result is off by at most 2 + 1.173 |x| units in the last place
// (CUDA Programming Guide, "Intrinsic Functions").
__device__ float exponential(float x) {
  return __expf(x);
}

// What is known of some elements x: the largest of them, and the sum of exp(x - largest). At first, of none.
struct alignas(8) Known { // both by one access of shared memory
#ifdef __clang__          // an editor's, which takes no type with values of its own in shared memory
  float largest, sum;
#else
  float largest = -infinity, sum = 0;
#endif
};

// The larger of two numbers, and NaN if one of them is: fmaxf would lose it.
__device__ float larger(float a, float b) {
  return lab::larger_or_nan(a, b);
}

struct Larger {
  __device__ float operator()(float a, float b) const { return larger(a, b); }
};
struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// The value of the lane whose number differs in one bit.
__device__ float of_partner(float value, int bit) {
  return __shfl_xor_sync(lab::all_lanes, value, bit);
}
__device__ Known of_partner(Known value, int bit) {
  return {of_partner(value.largest, bit), of_partner(value.sum, bit)};
}

// Combines the values of the block's threads, as in lab 04, and gives all of them the result. `nothing` is
// the identity of `combine`.
template <class T, class Operator>
__device__ T block_reduce(T value, T nothing, Operator combine) {
  __shared__ T of_warps[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int bit = 16; bit > 0; bit /= 2) value = combine(value, of_partner(value, bit));
  __syncthreads(); // of_warps may still be in use by the call before
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  value = lane < blockDim.x / 32 ? of_warps[lane] : nothing;
  for (int bit = 16; bit > 0; bit /= 2) value = combine(value, of_partner(value, bit));
  return value;
}

// Elements of 16 bytes as floats, and back.
__device__ void unpack(uint4 bits, float (&values)[4]) {
  const unsigned words[] = {bits.x, bits.y, bits.z, bits.w};
  for (int i = 0; i < 4; ++i) values[i] = __uint_as_float(words[i]);
}
__device__ void unpack(uint4 bits, float (&values)[8]) {
  const unsigned words[] = {bits.x, bits.y, bits.z, bits.w};
  for (int i = 0; i < 4; ++i) {
    values[2 * i] = __uint_as_float(words[i] << 16);
    values[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000);
  }
}
__device__ uint4 pack(const float (&values)[4]) {
  return {__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
          __float_as_uint(values[3])};
}
__device__ unsigned pair_of_bfloat16(float lower, float upper) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(lower, upper);
  return __bfloat16_as_ushort(both.x) | unsigned{__bfloat16_as_ushort(both.y)} << 16;
}
__device__ uint4 pack(const float (&values)[8]) {
  return {pair_of_bfloat16(values[0], values[1]), pair_of_bfloat16(values[2], values[3]),
          pair_of_bfloat16(values[4], values[5]), pair_of_bfloat16(values[6], values[7])};
}

// A row, or a part of one, that the threads of a block read into registers and write. Neighbouring threads
// take neighbouring elements, 16 bytes at a time where both rows allow it. If it is their last use, in global
// memory, the caches need not hold them.
template <class T, bool last_use = false>
struct Row {
  static constexpr int width = 16 / sizeof(T);
  const T* from;
  T* to;
  std::size_t columns;
  bool in_vectors;

  __device__ Row(const T* first_read, T* first_written, std::size_t count)
      : from(first_read), to(first_written), columns(count),
        in_vectors(is_aligned(from) && is_aligned(to) && columns % width == 0) {}

  // This thread's values, of a row of up to count * blockDim.x elements. Those beyond its end become
  // `beyond`.
  template <int count>
  __device__ __forceinline__ void load(float (&values)[count], float beyond) const {
    if (!in_vectors) {
#pragma unroll
      for (int k = 0; k < count; ++k) values[k] = item(k) < columns ? float(from[item(k)]) : beyond;
    } else if (columns == count * blockDim.x) {
      load_vectors(values, beyond, [](int) { return true; });
    } else {
      load_vectors(values, beyond, [this](int k) { return item(k) < columns / width; });
    }
  }

  // Writes them, except for those beyond the end.
  template <int count>
  __device__ __forceinline__ void store(const float (&values)[count]) const {
#pragma unroll
    for (int k = 0; in_vectors && k < count / width; ++k) {
      float stored[width];
      for (int i = 0; i < width; ++i) stored[i] = values[k * width + i];
      if (item(k) >= columns / width) continue;
      uint4* const vector = reinterpret_cast<uint4*>(to) + item(k);
      if (last_use) {
        __stcs(vector, pack(stored));
      } else {
        *vector = pack(stored);
      }
    }
#pragma unroll
    for (int k = 0; !in_vectors && k < count; ++k) {
      if (item(k) < columns) to[item(k)] = T(values[k]);
    }
  }

private:
  static __device__ bool is_aligned(const T* row) {
    return reinterpret_cast<std::size_t>(row) % 16 == 0;
  }
  // The thread's k-th element, or vector.
  static __device__ unsigned item(int k) {
    return blockDim.x * k + threadIdx.x;
  }

  // All loads are on their way before the first value is used.
  template <int count, class IsInside>
  __device__ __forceinline__ void load_vectors(float (&values)[count], float beyond,
                                               IsInside is_inside) const {
    uint4 loaded[count / width];
#pragma unroll
    for (int k = 0; k < count / width; ++k) {
      const uint4* const vector = reinterpret_cast<const uint4*>(from) + item(k);
      if (is_inside(k)) loaded[k] = last_use ? __ldcs(vector) : *vector;
    }
#pragma unroll
    for (int k = 0; k < count / width; ++k) {
      float unpacked[width];
      unpack(loaded[k], unpacked);
      for (int i = 0; i < width; ++i) values[k * width + i] = is_inside(k) ? unpacked[i] : beyond;
    }
  }
};

// ---- three_reads -----------------------------------------------------------------------------------------

// A block's work on its row.
__device__ void three_reads_of(const float* row, float* weights, std::size_t columns) {
  // BEGIN three_reads
  // TODO: Walk over the row three times, the threads side by side. First find the largest element, and
  // combine the threads' values by block_reduce(value, -infinity, Larger()). Then add up exponential(x -
  // largest), and combine the sums by block_reduce(sum, 0.0f, Plus()). At last store the exponentials divided
  // by their sum in `weights`. (11 lines)
  float largest = -infinity;
  for (std::size_t column = threadIdx.x; column < columns; column += blockDim.x) {
    largest = larger(largest, row[column]);
  }
  largest = block_reduce(largest, -infinity, Larger());
  float sum = 0;
  for (std::size_t column = threadIdx.x; column < columns; column += blockDim.x) {
    sum += exponential(row[column] - largest);
  }
  sum = block_reduce(sum, 0.0f, Plus());
  for (std::size_t column = threadIdx.x; column < columns; column += blockDim.x) {
    weights[column] = exponential(row[column] - largest) / sum;
  }
  // END three_reads
}

__global__ void three_reads_kernel(const float* input, float* output, std::size_t columns) {
  three_reads_of(input + blockIdx.x * columns, output + blockIdx.x * columns, columns);
}

void three_reads(const float* input, float* output, lab::MatrixShape shape, unsigned block) {
  if (shape.rows == 0 || shape.columns == 0) return;
  three_reads_kernel<<<shape.rows, block>>>(input, output, shape.columns);
}

// ---- online ----------------------------------------------------------------------------------------------

// Combines what is known of two sets of elements.
struct Join {
  __device__ Known operator()(Known a, Known b) const {
    Known both = a;
    // BEGIN online
    // TODO: Give `both` the larger `largest` of the two, and the sum of both sums, each multiplied by
    // exponential(its own largest - the larger one). But -inf - (-inf) is NaN: where the largest of one set
    // is -infinity, it has masked elements only, or none, and the result is the other set. (6 lines)
    if (a.largest == -infinity) {
      both = b;
    } else if (b.largest != -infinity) {
      both.largest = larger(a.largest, b.largest);
      both.sum =
          a.sum * exponential(a.largest - both.largest) + b.sum * exponential(b.largest - both.largest);
    }
    // END online
    return both;
  }
};

__device__ void online_of(const float* row, float* weights, std::size_t columns) {
  // BEGIN online
  // TODO: Walk over the row only twice. On the first walk, join each element x, which alone is Known{x, 1},
  // to what this thread knows. Combine what the threads know by block_reduce(known, Known(), Join()), and
  // store the weights on the second walk. (8 lines)
  Known known;
  for (std::size_t column = threadIdx.x; column < columns; column += blockDim.x) {
    known = Join()(known, {row[column], 1});
  }
  known = block_reduce(known, Known(), Join());
  for (std::size_t column = threadIdx.x; column < columns; column += blockDim.x) {
    weights[column] = exponential(row[column] - known.largest) / known.sum;
  }
  // END online
}

__global__ void online_kernel(const float* input, float* output, std::size_t columns) {
  online_of(input + blockIdx.x * columns, output + blockIdx.x * columns, columns);
}

void online(const float* input, float* output, lab::MatrixShape shape, unsigned block) {
  if (shape.rows == 0 || shape.columns == 0) return;
  online_kernel<<<shape.rows, block>>>(input, output, shape.columns);
}

// ---- kept ------------------------------------------------------------------------------------------------

// What is known of a thread's values and of those before, all at once: one maximum for all, and then one
// exponential each. Each value becomes exp(value - largest).
template <int count>
__device__ __forceinline__ Known known_of(float (&values)[count], Known before = {}) {
  Known known = before;
  for (float value : values) known.largest = larger(known.largest, value);
  const float base = known.largest == -infinity ? 0 : known.largest;
  known.sum *= exponential(before.largest - base);
  for (float& value : values) {
    value = exponential(value - base);
    known.sum += value;
  }
  return known;
}

// What the lanes of a warp know together, likewise at once.
__device__ Known join_lanes(Known of_lane) {
  Known known = of_lane;
  for (int bit = 16; bit > 0; bit /= 2) known.largest = larger(known.largest, of_partner(known.largest, bit));
  const float base = known.largest == -infinity ? 0 : known.largest;
  known.sum *= exponential(of_lane.largest - base);
  for (int bit = 16; bit > 0; bit /= 2) known.sum += of_partner(known.sum, bit);
  return known;
}

// What the threads of the block know together; all of them get it.
__device__ Known join_block(Known of_thread) {
  __shared__ Known of_warps[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Known of_warp = join_lanes(of_thread);
  __syncthreads(); // of_warps may still be in use by the call before
  if (lane == 0) of_warps[warp] = of_warp;
  __syncthreads();
  return join_lanes(lane < blockDim.x / 32 ? of_warps[lane] : Known());
}

// A block's work on a row of up to count * blockDim.x elements.
template <int count, class T>
__device__ __forceinline__ void kept_of(const Row<T>& row) {
  // BEGIN kept
  // TODO: Read the row once, into float values[count]: row.load(values, beyond), where `beyond` must be like
  // a masked element. known_of(values) says what this thread knows, and turns its values into exponentials;
  // one call of join_block() says what the block knows. Multiply each value by exponential(this thread's
  // largest - the block's) / the block's sum, and write the row once: row.store(values). (7 lines)
  float values[count];
  row.load(values, -infinity);
  const Known mine = known_of(values);
  const Known all = join_block(mine);
  const float scale = exponential(mine.largest - all.largest) / all.sum;
  for (float& value : values) value *= scale;
  row.store(values);
  // END kept
}

template <int count, class T>
__global__ void __launch_bounds__(most_threads) kept_kernel(const T* input, T* output, std::size_t columns) {
  kept_of<count>(Row<T>(input + blockIdx.x * columns, output + blockIdx.x * columns, columns));
}

// How many threads take a row (or a part of one), and how many of its elements each keeps: two vectors at
// least, and 64 elements at most.
struct Sharing {
  unsigned threads;
  int count;
};
template <class T>
Sharing share(std::size_t columns, unsigned block) {
  block = min(block, most_threads);
  while (block > 32 && columns < 32 / sizeof(T) * block) block /= 2;
  while (columns > 64 * std::size_t{block}) block *= 2;
  int count = 8;
  while (columns > std::size_t{block} * count) count *= 2;
  return {block, count};
}

// The kernel whose threads keep that many elements.
template <class Kernel>
Kernel* for_count(int count, Kernel* of_8, Kernel* of_16, Kernel* of_32, Kernel* of_64) {
  return count == 8 ? of_8 : count == 16 ? of_16 : count == 32 ? of_32 : of_64;
}

template <class T>
void kept(const T* input, T* output, lab::MatrixShape shape, unsigned block) {
  if (shape.rows == 0 || shape.columns == 0) return;
  const auto [threads, count] = share<T>(shape.columns, block);
  const auto kernel =
      for_count(count, kept_kernel<8, T>, kept_kernel<16, T>, kept_kernel<32, T>, kept_kernel<64, T>);
  kernel<<<shape.rows, threads>>>(input, output, shape.columns);
}

// ---- cluster ---------------------------------------------------------------------------------------------

// What the threads of all blocks of the cluster know together; all of them get it. It arrives at a barrier of
// the cluster that each thread must still wait for.
__device__ Known join_cluster(Known of_thread) {
  Known known;
  // BEGIN cluster
  // TODO: Let thread 0 store what join_block(of_thread) gives it in a `__shared__ Known of_block`, and wait
  // for the cluster: lab::cluster_sync(). Let lane r of each warp read what the block of rank r has stored,
  // *lab::in_block(&of_block, r), or take Known() if there is no such block: there are lab::cluster_blocks().
  // Make `known` what join_lanes() makes of that, and say that it is read: lab::cluster_arrive(). (8 lines)
  __shared__ Known of_block;
  const unsigned lane = threadIdx.x % 32;
  known = join_block(of_thread);
  if (threadIdx.x == 0) of_block = known;
  lab::cluster_sync();
  known = lane < lab::cluster_blocks() ? *lab::in_block(&of_block, lane) : Known();
  known = join_lanes(known);
  lab::cluster_arrive();
  // END cluster
  return known;
}

// A block's work on its part of a row.
template <int count, class T>
__device__ void cluster_of(const Row<T>& part) {
  // BEGIN cluster
  // TODO: As in `kept`, but what the cluster knows counts: join_cluster(). At last wait until all blocks have
  // read this block's shared memory, which ends with it: lab::cluster_wait(). (8 lines)
  float values[count];
  part.load(values, -infinity);
  const Known mine = known_of(values);
  const Known row = join_cluster(mine);
  const float scale = exponential(mine.largest - row.largest) / row.sum;
  for (float& value : values) value *= scale;
  part.store(values);
  lab::cluster_wait();
  // END cluster
}

// This block's part of the row of its cluster: all parts are equal, up to the last, and start with a vector.
template <class T>
__device__ Row<T> part_of_row(const T* input, T* output, std::size_t columns) {
  const std::size_t vectors = lab::ceil_div(columns, 8 * lab::cluster_blocks());
  const std::size_t first = min(columns, vectors * 8 * lab::cluster_rank());
  const std::size_t begin = blockIdx.x / lab::cluster_blocks() * columns + first;
  return Row<T>(input + begin, output + begin, min(vectors * 8, columns - first));
}

template <int count, class T>
__global__ void __launch_bounds__(most_threads)
    cluster_kernel(const T* input, T* output, std::size_t columns) {
  cluster_of<count>(part_of_row(input, output, columns));
}

// Two blocks at least, and so many that a part is not long; 16 only where a part would not fit otherwise.
unsigned blocks_for(std::size_t columns) {
  unsigned blocks = 2;
  while (blocks < 8 && columns > 8192 * std::size_t{blocks}) blocks *= 2;
  return columns > 32768 * std::size_t{blocks} ? 16 : blocks;
}

// A cluster per row, of the kernel whose threads keep a block's part of it.
template <class T, class Kernel>
void launch_by_clusters(const T* input, T* output, lab::MatrixShape shape, unsigned block, Kernel* of_8,
                        Kernel* of_16, Kernel* of_32, Kernel* of_64) {
  const unsigned blocks = blocks_for(shape.columns);
  const auto [threads, count] = share<T>(lab::ceil_div(shape.columns, 8 * blocks) * 8, block);
  const auto kernel = for_count(count, of_8, of_16, of_32, of_64);
  lab::launch_clusters(kernel, shape.rows, blocks, threads, input, output, shape.columns);
}

template <class T>
void cluster(const T* input, T* output, lab::MatrixShape shape, unsigned block) {
  if (shape.rows == 0 || shape.columns == 0) return;
  launch_by_clusters(input, output, shape, block, cluster_kernel<8, T>, cluster_kernel<16, T>,
                     cluster_kernel<32, T>, cluster_kernel<64, T>);
}

// ---- bulk_copies -----------------------------------------------------------------------------------------

// Copies by threads keep the threads busy, and registers full of what is on its way. A bulk copy is one
// instruction of one thread: the hardware moves the row to shared memory, and says when it is there.
constexpr unsigned stages = 3; // rows that a block has in shared memory

// The block's rows are blockIdx.x, blockIdx.x + gridDim.x and so on: turn 0, 1, ... Turn t uses buffer and
// arrival t % stages.
template <int count>
__device__ __forceinline__ void bulk_copies_of(const float* input, float* output, lab::MatrixShape shape,
                                               float* buffers, lab::Arrival* arrivals) {
  // BEGIN bulk_copies
  // TODO: Thread 0 fetches a row of `bytes` = shape.columns * sizeof(float) bytes, if there is one:
  // arrivals[...].expect(bytes), then lab::bulk_load(buffer, row, bytes, arrivals[...]). It fetches the first
  // stages - 1 rows at once. In each turn all threads wait for the row, whose parity is turn / stages % 2,
  // work on it in its buffer, kept_of<count>(Row<float>(buffer, buffer, shape.columns)), and call
  // lab::fence_for_bulk_copies() and __syncthreads(). Then thread 0 stores it: lab::bulk_store(to, buffer,
  // bytes). Once all stores but that one have read their buffers, lab::wait_until_stored_but<1>(), it fetches
  // the row of turn + stages - 1. In the end it waits for the last store, too:
  // lab::wait_until_stored_but<0>(). (22 lines)
  const std::size_t rows = shape.rows, columns = shape.columns, bytes = columns * sizeof(float);
  const auto fetch = [&](std::size_t turn) {
    const std::size_t row = blockIdx.x + turn * gridDim.x;
    if (row >= rows) return;
    arrivals[turn % stages].expect(bytes);
    lab::bulk_load(buffers + turn % stages * columns, input + row * columns, bytes, arrivals[turn % stages]);
  };
  for (std::size_t turn = 0; threadIdx.x == 0 && turn < stages - 1; ++turn) fetch(turn);
  std::size_t turn = 0;
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x, ++turn) {
    float* buffer = buffers + turn % stages * columns;
    arrivals[turn % stages].wait(turn / stages % 2);
    kept_of<count>(Row<float>(buffer, buffer, columns));
    lab::fence_for_bulk_copies();
    __syncthreads();
    if (threadIdx.x == 0) {
      lab::bulk_store(output + row * columns, buffer, bytes);
      lab::wait_until_stored_but<1>();
      fetch(turn + stages - 1);
    }
  }
  if (threadIdx.x == 0) lab::wait_until_stored_but<0>();
  // END bulk_copies
}

template <int count>
__global__ void __launch_bounds__(most_threads)
    bulk_copies_kernel(const float* input, float* output, lab::MatrixShape shape) {
  extern __shared__ __align__(16) float buffers[];
  __shared__ lab::Arrival arrivals[stages];
  if (threadIdx.x < stages) arrivals[threadIdx.x].init();
  __syncthreads();
  bulk_copies_of<count>(input, output, shape, buffers, arrivals);
}

// Rows that are no multiple of 16 bytes cannot be copied so: `online` takes them.
void bulk_copies(const float* input, float* output, lab::MatrixShape shape, unsigned block) {
  if (shape.rows == 0 || shape.columns == 0) return;
  const bool aligned =
      (reinterpret_cast<std::size_t>(input) | reinterpret_cast<std::size_t>(output)) % 16 == 0;
  if (!aligned || shape.columns % 4 != 0) return online(input, output, shape, block);
  if (shape.columns > 8192) block = most_threads; // there is one block on a multiprocessor
  const auto [threads, count] = share<float>(shape.columns, block);
  const auto kernel = count == 8    ? bulk_copies_kernel<8>
                      : count == 16 ? bulk_copies_kernel<16>
                                    : bulk_copies_kernel<32>;
  const std::size_t bytes = stages * shape.columns * sizeof(float);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  int blocks_each = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, kernel, static_cast<int>(threads), bytes);
  const std::size_t most = std::size_t{lab::multiprocessors()} * blocks_each;
  const std::size_t blocks = min(shape.rows, most);
  kernel<<<blocks, threads, bytes>>>(input, output, shape);
}

// ---- longest_rows ----------------------------------------------------------------------------------------

// A block's work on its part of a row, which is too long to be kept. L2 holds what was read a moment ago.
template <class T>
__device__ void longest_rows_of(const Row<T>& part) {
  // BEGIN longest_rows
  // TODO: Walk over the part in pieces of up to 32 * blockDim.x elements, the last one shorter, which fit
  // float values[32] of each thread: Row<T>(part.from + first, part.to + first, columns of the piece). Add
  // each to what is known: known_of(values, known). Then join_cluster(), and walk again with Row<T, true>,
  // whose last use of the row makes room in L2, to store the weights. At last wait for the cluster.
  // (19 lines)
  constexpr int count = 32;
  const std::size_t piece = count * blockDim.x;
  float values[count];
  Known known;
  for (std::size_t first = 0; first < part.columns; first += piece) {
    Row<T>(part.from + first, part.to + first, min(piece, part.columns - first)).load(values, -infinity);
    known = known_of(values, known);
  }
  known = join_cluster(known);
  const float scale = 1 / known.sum;
  for (std::size_t first = 0; first < part.columns; first += piece) {
    const Row<T, true> row(part.from + first, part.to + first, min(piece, part.columns - first));
    row.load(values, -infinity);
    for (float& value : values) value = exponential(value - known.largest) * scale;
    row.store(values);
  }
  lab::cluster_wait();
  // END longest_rows
}

template <class T>
__global__ void __launch_bounds__(most_threads)
    longest_rows_kernel(const T* input, T* output, std::size_t columns) {
  longest_rows_of(part_of_row(input, output, columns));
}

unsigned blocks_of_longest(std::size_t columns) {
  return blocks_for(min(columns, std::size_t{1} << 18)); // 16 leave multiprocessors idle
}

template <class T>
void longest_rows(const T* input, T* output, lab::MatrixShape shape, unsigned block) {
  if (shape.rows == 0 || shape.columns == 0) return;
  const unsigned blocks = blocks_of_longest(shape.columns);
  const unsigned threads = shape.columns > 1 << 16 ? most_threads : min(block, most_threads);
  lab::launch_clusters(longest_rows_kernel<T>, shape.rows, blocks, threads, input, output, shape.columns);
}

// ---- ones_matrix -----------------------------------------------------------------------------------------

// Eight elements of a row from `first` on; zeros beyond its end.
__device__ uint4 eight_elements(const __nv_bfloat16* row, std::size_t first, std::size_t columns) {
  if (reinterpret_cast<std::size_t>(row + first) % 16 == 0 && first + 8 <= columns) {
    return *reinterpret_cast<const uint4*>(row + first);
  }
  unsigned halves[8];
  for (int i = 0; i < 8; ++i) halves[i] = first + i < columns ? __bfloat16_as_ushort(row[first + i]) : 0;
  return {halves[0] | halves[1] << 16, halves[2] | halves[3] << 16, halves[4] | halves[5] << 16,
          halves[6] | halves[7] << 16};
}

// The sum of a row of bfloat16, one warp per row.
__device__ float ones_matrix_of(const __nv_bfloat16* row, std::size_t columns) {
  float sums[4] = {};
  // BEGIN ones_matrix
  // TODO: Walk over the row 256 elements at a time, all lanes together. Lane l takes eight_elements(row,
  // first + 8 * l, columns), and lab::add_row_sums(sums, elements) adds all 256. Which of them stand in one
  // row of the matrix does not matter, since all are added up: in the end, sums[0] + sums[2] of lanes 0, 4,
  // 8, ... 28. Each of those has three neighbours with the same sums. Leave the sum of the eight in sums[0]
  // of lane 0. (5 lines)
  for (std::size_t first = 0; first < columns; first += 256) {
    lab::add_row_sums(sums, eight_elements(row, first + 8 * (threadIdx.x % 32), columns));
  }
  sums[0] += sums[2];
  for (int bit = 4; bit < 32; bit *= 2) sums[0] += of_partner(sums[0], bit);
  // END ones_matrix
  return sums[0];
}

__global__ void ones_matrix_kernel(const __nv_bfloat16* matrix, float* sums, std::size_t rows,
                                   std::size_t columns) {
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return; // the whole warp leaves
  const float sum = ones_matrix_of(matrix + row * columns, columns);
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}

void ones_matrix(const __nv_bfloat16* matrix, float* sums, std::size_t rows, std::size_t columns,
                 unsigned block) {
  if (rows == 0) return;
  ones_matrix_kernel<<<lab::ceil_div(rows, block / 32), block>>>(matrix, sums, rows, columns);
}

// ---- rms_norm --------------------------------------------------------------------------------------------

// Each element divided by the root of the mean of the row's squares: x / sqrt(mean(x * x) + epsilon).
// Language models do it to each row before they use it.
template <int count, class T>
__device__ void rms_norm_of(const Row<T>& row, float epsilon) {
  // BEGIN rms_norm
  // TODO: The exam. A row of up to count * blockDim.x elements is read once and written once.
  // (7 lines)
  float values[count], sum = 0;
  row.load(values, 0);
  for (float value : values) sum += value * value;
  sum = block_reduce(sum, 0.0f, Plus());
  const float scale = rsqrtf(sum / row.columns + epsilon);
  for (float& value : values) value *= scale;
  row.store(values);
  // END rms_norm
}

template <int count, class T>
__global__ void __launch_bounds__(most_threads)
    rms_norm_kernel(const T* input, T* output, std::size_t columns) {
  rms_norm_of<count>(Row<T>(input + blockIdx.x * columns, output + blockIdx.x * columns, columns), 1e-5f);
}

// A block's work on its part of a row that is longer, of so many columns.
template <int count, class T>
__device__ void rms_norm_of_part(const Row<T>& part, std::size_t columns, float epsilon) {
  // BEGIN rms_norm
  // TODO: The exam goes on with rows that only a cluster can keep, which are read once and written once, too.
  // All pairs whose `largest` is 0 join to the sum of their sums. (8 lines)
  float values[count], sum = 0;
  part.load(values, 0);
  for (float value : values) sum += value * value;
  sum = join_cluster(Known{0, sum}).sum;
  const float scale = rsqrtf(sum / columns + epsilon);
  for (float& value : values) value *= scale;
  part.store(values);
  lab::cluster_wait();
  // END rms_norm
}

template <int count, class T>
__global__ void __launch_bounds__(most_threads)
    rms_norm_cluster_kernel(const T* input, T* output, std::size_t columns) {
  rms_norm_of_part<count>(part_of_row(input, output, columns), columns, 1e-5f);
}

// A block's work on its part of a row of so many columns, which is too long to be kept.
template <class T>
__device__ void rms_norm_of_longest(const Row<T>& part, std::size_t columns, float epsilon) {
  // BEGIN rms_norm
  // TODO: The exam ends with rows that no cluster keeps. They are read twice, as in `longest_rows`. (15
  // lines)
  constexpr int count = 32;
  const std::size_t piece = count * blockDim.x;
  float values[count], sum = 0;
  for (std::size_t first = 0; first < part.columns; first += piece) {
    Row<T>(part.from + first, part.to + first, min(piece, part.columns - first)).load(values, 0);
    for (float value : values) sum += value * value;
  }
  sum = join_cluster(Known{0, sum}).sum;
  const float scale = rsqrtf(sum / columns + epsilon);
  for (std::size_t first = 0; first < part.columns; first += piece) {
    const Row<T, true> row(part.from + first, part.to + first, min(piece, part.columns - first));
    row.load(values, 0);
    for (float& value : values) value *= scale;
    row.store(values);
  }
  lab::cluster_wait();
  // END rms_norm
}

template <class T>
__global__ void __launch_bounds__(most_threads)
    rms_norm_longest_kernel(const T* input, T* output, std::size_t columns) {
  rms_norm_of_longest(part_of_row(input, output, columns), columns, 1e-5f);
}

template <class T>
void rms_norm(const T* input, T* output, lab::MatrixShape shape, unsigned block) {
  if (shape.rows == 0 || shape.columns == 0) return;
  if (shape.columns > 16 * 64 * most_threads)
    return lab::launch_clusters(rms_norm_longest_kernel<T>, shape.rows, blocks_of_longest(shape.columns),
                                most_threads, input, output, shape.columns);
  if (shape.columns > 64 * most_threads)
    return launch_by_clusters(input, output, shape, block, rms_norm_cluster_kernel<8, T>,
                              rms_norm_cluster_kernel<16, T>, rms_norm_cluster_kernel<32, T>,
                              rms_norm_cluster_kernel<64, T>);
  const auto [threads, count] = share<T>(shape.columns, block);
  const auto kernel = for_count(count, rms_norm_kernel<8, T>, rms_norm_kernel<16, T>, rms_norm_kernel<32, T>,
                                rms_norm_kernel<64, T>);
  kernel<<<shape.rows, threads>>>(input, output, shape.columns);
}

int main(int argc, char** argv) {
  return lab::main(argc, argv,
                   {
                       {"three_reads", three_reads},
                       {"online", online},
                       {"kept", kept<float>, kept<__nv_bfloat16>},
                       {"cluster", cluster<float>, cluster<__nv_bfloat16>},
                       {"bulk_copies", bulk_copies},
                       {"longest_rows", longest_rows<float>, longest_rows<__nv_bfloat16>},
                       {"ones_matrix", ones_matrix},
                       {"rms_norm", rms_norm<float>, rms_norm<__nv_bfloat16>},
                   });
}
