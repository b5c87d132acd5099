// Lab 06: any operator, any type.
//
// Nothing in a tree depends on the fact that it adds. It needs an associative operator, so that it does not
// matter where the parentheses are, and an identity: a value that changes nothing. A thread without an
// element contributes the identity, and the reduction of no elements at all is the identity. So one kernel
// template serves sum, minimum, maximum and product, for int, unsigned, float and double.
//
// There are no atomics for most of these operators. Each block leaves its own result in memory, and the same
// kernel reduces the blocks' results in a second launch.
#include "lab.hpp"

#include <limits>

// The ends of a type's range: infinities if the type has them. A kernel cannot call the functions of
// numeric_limits, which are compiled for the CPU; it can use these constants. (And
// numeric_limits<float>::min() is not the least float but the smallest normal one above 0.)
template <class T>
struct Range {
  using Limits = std::numeric_limits<T>;
  static constexpr T least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  static constexpr T greatest = Limits::has_infinity ? Limits::infinity() : Limits::max();
};

// -----------------------------------------------------------------------------------------------------------
// The operators: each has an identity and combines two values.

struct Add {
  template <class T>
  static __device__ T identity() {
    return 0;
  }
  template <class T>
  static __device__ T combine(T a, T b) {
    T both = a;
    // BEGIN add
    // TODO: Make `both` the sum of the two. (1 line)
    // END add
    return both;
  }
};

struct Min {
  template <class T>
  static __device__ T identity() {
    T value = 0;
    // BEGIN min
    // TODO: Make `value` one that changes no minimum: the greatest value there is. Range<T> above has it. (1
    // line)
    // END min
    return value;
  }
  template <class T>
  static __device__ T combine(T a, T b) {
    T both = a;
    // BEGIN min
    // TODO: Make `both` the smaller of the two. (1 line)
    // END min
    return both;
  }
};

struct Max {
  template <class T>
  static __device__ T identity() {
    T value = 0;
    // BEGIN max
    // TODO: Make `value` one that changes no maximum, not even of negative numbers. (1 line)
    // END max
    return value;
  }
  template <class T>
  static __device__ T combine(T a, T b) {
    T both = a;
    // BEGIN max
    // TODO: Make `both` the greater of the two. (1 line)
    // END max
    return both;
  }
};

struct Product {
  template <class T>
  static __device__ T identity() {
    T value = 0;
    // BEGIN product
    // TODO: Make `value` one that changes no product. (1 line)
    // END product
    return value;
  }
  template <class T>
  static __device__ T combine(T a, T b) {
    T both = a;
    // BEGIN product
    // TODO: Make `both` the product of the two. (1 line)
    // END product
    return both;
  }
};

// There is nothing to fill in here. The kernel is also tried with this operator, to see that it takes both
// the identity and the combination from the operator that it is given.
struct BitwiseAnd {
  template <class T>
  static __device__ T identity() {
    return ~T(0);
  }
  template <class T>
  static __device__ T combine(T a, T b) {
    return a & b;
  }
};

// -----------------------------------------------------------------------------------------------------------
// The one kernel, for all four operators. Op::combine(a, b) is the operator, Op::template identity<T>() its
// identity: a + or a 0 written here would be right for `add` but wrong for the others.

// The values of a warp's 32 lanes, combined, in lane 0.
template <class Op, class T>
__device__ T reduce_warp(T value) {
  // BEGIN add
  // TODO: For the distances 16, 8, 4, 2, 1, in either order: combine `value` with the value of the lane that
  // is this distance above. This is shuffle_sum of lab 04 with Op::combine instead of the addition. (3 lines)
  // END add
  return value;
}

template <class Op, class T>
__global__ void reduce_kernel(const T* input, T* results, std::size_t n) {
  __shared__ T of_warps[32]; // at most 1024 threads, 32 warps
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T value = Op::template identity<T>();
  // BEGIN add
  // TODO: Let this thread walk over the input, starting at its own index in the grid and stepping by the
  // number of threads in the grid, and combine each element with `value`. (4 lines)
  // END add
  value = reduce_warp<Op>(value);
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  if (warp != 0) return;
  // BEGIN add
  // TODO: Let `value` of lane k be the result of warp k. If the block has no warp k, what must it be so
  // that it changes nothing? (1 line)
  // END add
  value = reduce_warp<Op>(value);
  if (lane == 0) results[blockIdx.x] = value;
}

template <class Op, class T>
void reduce(const T* input, T* result, std::size_t n, unsigned block) {
  const unsigned blocks = lab::resident_blocks(block);
  T* of_blocks = lab::scratch<T>(blocks);
  reduce_kernel<Op><<<blocks, block>>>(input, of_blocks, n);
  reduce_kernel<Op><<<1, block>>>(of_blocks, result, blocks);
}

int main(int argc, char** argv) {
  return lab::main(
      argc, argv,
      {
          {"add", reduce<Add, float>, reduce<Add, double>, reduce<Add, int>, reduce<Add, unsigned>,
           lab::Variant(reduce<BitwiseAnd, unsigned>).tried_with(lab::Operator::bitwise_and)},
          {"min", reduce<Min, float>, reduce<Min, double>, reduce<Min, int>, reduce<Min, unsigned>},
          {"max", reduce<Max, float>, reduce<Max, double>, reduce<Max, int>, reduce<Max, unsigned>},
          {"product", reduce<Product, float>, reduce<Product, double>, reduce<Product, int>,
           reduce<Product, unsigned>},
      });
}
