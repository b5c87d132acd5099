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
//   rms_norm       the exam: another function of rows, of which only the formula is given
//
// -inf stands for a masked element, whose weight is 0. A row that is masked as a whole becomes NaN (0 / 0),
// and so does a row with a NaN.
#include "lab.hpp"

#include <cuda_bf16.h>

// ---- shared by all rungs ---------------------------------------------------------------------------------

constexpr float infinity = INFINITY;

// exp(x) by the hardware's unit for 2^x. Its result is off by at most 2 + 1.173 |x| units in the last place
// (CUDA Programming Guide, "Intrinsic Functions").
__device__ float exponential(float x) {
  return __expf(x);
}

// What is known of some elements x: the largest of them, and the sum of exp(x - largest). At first, of none.
struct Known {
  float largest = -infinity, sum = 0;
};

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
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
// take neighbouring elements, 16 bytes at a time where both rows allow it.
template <class T>
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
  __device__ void load(float (&values)[count], float beyond) const {
    for (int k = 0; in_vectors && k < count; k += width) {
      float loaded[width];
      const bool is_inside = first_of_vector(k) < columns;
      if (is_inside) unpack(*reinterpret_cast<const uint4*>(from + first_of_vector(k)), loaded);
      for (int i = 0; i < width; ++i) values[k + i] = is_inside ? loaded[i] : beyond;
    }
    for (int k = 0; !in_vectors && k < count; ++k) {
      values[k] = element(k) < columns ? float(from[element(k)]) : beyond;
    }
  }

  // Writes them, except for those beyond the end.
  template <int count>
  __device__ void store(const float (&values)[count]) const {
    for (int k = 0; in_vectors && k < count; k += width) {
      float stored[width];
      for (int i = 0; i < width; ++i) stored[i] = values[k + i];
      if (first_of_vector(k) < columns) *reinterpret_cast<uint4*>(to + first_of_vector(k)) = pack(stored);
    }
    for (int k = 0; !in_vectors && k < count; ++k) {
      if (element(k) < columns) to[element(k)] = T(values[k]);
    }
  }

private:
  static __device__ bool is_aligned(const T* row) { return reinterpret_cast<std::size_t>(row) % 16 == 0; }
  static __device__ std::size_t element(int k) { return std::size_t{blockDim.x} * k + threadIdx.x; }
  static __device__ std::size_t first_of_vector(int k) { return element(k / width) * width; }
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
    largest = fmaxf(largest, row[column]);
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
      both.largest = fmaxf(a.largest, b.largest);
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

// A block's work on a row of up to count * blockDim.x elements.
template <int count, class T>
__device__ void kept_of(const Row<T>& row) {
  // BEGIN kept
  // TODO: Read the row once, into float values[count]: row.load(values, beyond), where `beyond` must change
  // neither the maximum nor the sum. Find the largest value of the block, replace each value by its
  // exponential, and add those up over the block. Multiply each value by 1 / sum, and write the row once:
  // row.store(values). (12 lines)
  float values[count];
  row.load(values, -infinity);
  float largest = -infinity;
  for (float value : values) largest = fmaxf(largest, value);
  largest = block_reduce(largest, -infinity, Larger());
  float sum = 0;
  for (float& value : values) {
    value = exponential(value - largest);
    sum += value;
  }
  const float scale = 1 / block_reduce(sum, 0.0f, Plus());
  for (float& value : values) value *= scale;
  row.store(values);
  // END kept
}

template <int count, class T>
__global__ void kept_kernel(const T* input, T* output, std::size_t columns) {
  kept_of<count>(Row<T>(input + blockIdx.x * columns, output + blockIdx.x * columns, columns));
}

// The number of threads for a row: some 8 to 16 elements each, and 32 where the largest block needs it.
unsigned threads_for(std::size_t columns, unsigned block) {
  while (block < 1024 && columns > 16 * std::size_t{block}) block *= 2;
  return block;
}

template <class T>
void kept(const T* input, T* output, lab::MatrixShape shape, unsigned block) {
  if (shape.rows == 0 || shape.columns == 0) return;
  block = threads_for(shape.columns, block);
  if (shape.columns <= 8 * std::size_t{block}) {
    kept_kernel<8><<<shape.rows, block>>>(input, output, shape.columns);
  } else if (shape.columns <= 16 * std::size_t{block}) {
    kept_kernel<16><<<shape.rows, block>>>(input, output, shape.columns);
  } else {
    kept_kernel<32><<<shape.rows, block>>>(input, output, shape.columns);
  }
}

// ---- rms_norm --------------------------------------------------------------------------------------------

// Each element divided by the root of the mean of the row's squares: x / sqrt(mean(x * x) + epsilon).
// Language models do it to each row before they use it.
template <int count, class T>
__device__ void rms_norm_of(const Row<T>& row, float epsilon) {
  // BEGIN rms_norm
  // TODO: The exam. A row of up to count * blockDim.x elements is read once and written once.
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
__global__ void rms_norm_kernel(const T* input, T* output, std::size_t columns) {
  rms_norm_of<count>(Row<T>(input + blockIdx.x * columns, output + blockIdx.x * columns, columns), 1e-5f);
}

template <class T>
void rms_norm(const T* input, T* output, lab::MatrixShape shape, unsigned block) {
  if (shape.rows == 0 || shape.columns == 0) return;
  block = threads_for(shape.columns, block);
  if (shape.columns <= 8 * std::size_t{block}) {
    rms_norm_kernel<8><<<shape.rows, block>>>(input, output, shape.columns);
  } else if (shape.columns <= 16 * std::size_t{block}) {
    rms_norm_kernel<16><<<shape.rows, block>>>(input, output, shape.columns);
  } else {
    rms_norm_kernel<32><<<shape.rows, block>>>(input, output, shape.columns);
  }
}

int main(int argc, char** argv) {
  return lab::main(argc, argv,
                   {
                       {"three_reads", three_reads},
                       {"online", online},
                       {"kept", kept<float>, kept<__nv_bfloat16>},
                       {"rms_norm", rms_norm<float>, rms_norm<__nv_bfloat16>},
                   });
}
