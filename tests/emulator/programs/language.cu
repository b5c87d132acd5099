// C++ features as nvcc compiles them: calls, recursion, pointers to functions, virtual functions, 128-bit
// integers, the heap.
#include "verdict.hpp"

#include <utility>

struct Record {
  int count;
  double value;
  char letters[5];
  short rest;
};
__device__ Record initial{1, 2.5, {'a', 'b'}, 7};

__device__ __noinline__ Record changed(Record record, int by) {
  record.count += by;
  record.value *= 2;
  record.letters[by % 5] = 'z';
  record.rest -= by;
  return record;
}

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

using Function = int (*)(int);
__device__ int plus_one(int x) {
  return x + 1;
}
__device__ int twice(int x) {
  return 2 * x;
}
__device__ int negative(int x) {
  return -x;
}
__device__ Function functions[] = {plus_one, twice, negative};

struct Shape {
  virtual __device__ ~Shape() {}
  virtual __device__ int area() const = 0;
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Strip : Shape {
  int length;
  __device__ explicit Strip(int l) : length(l) {}
  __device__ int area() const override { return length; }
};

__global__ void by_value(int* out) {
  Record record = changed(initial, threadIdx.x);
  out[threadIdx.x] = record.count + (int)record.value + record.letters[threadIdx.x % 5] + record.rest;
}
__global__ void recursion(int* out) {
  out[threadIdx.x] = fibonacci(threadIdx.x % 10);
}
__global__ void through_pointers(int* out) {
  out[threadIdx.x] = functions[threadIdx.x % 3](threadIdx.x);
}
__global__ void virtual_functions(int* out) {
  int i = threadIdx.x;
  Shape* shape = i % 2 ? static_cast<Shape*>(new Square(i)) : new Strip(i);
  out[i] = shape->area();
  delete shape;
}

using Wide = __int128;
__host__ __device__ int folded(Wide x) {
  return (int)(x ^ x >> 32 ^ x >> 64 ^ x >> 96);
}
__host__ __device__ int arithmetic_of(int i) {
  Wide a = ((Wide)0x123456789abcdefll << (i % 60)) + i, b = -(((Wide)i + 1) << 33) - 12345;
  unsigned __int128 quotient = (unsigned __int128)b / ((unsigned __int128)a | 1);
  return folded(a * b) ^ folded(a / b) ^ folded(a % b) ^ folded((a << i % 128) ^ (b >> i % 128)) ^
         folded((Wide)quotient) ^ (a < b);
}
__global__ void wide_integers(int* out) {
  out[threadIdx.x] = arithmetic_of(threadIdx.x);
}

// Each call keeps 256 bytes, so that 150 of them need more than a thread's usual stack.
__device__ __noinline__ int depth_and_sum(int depth, volatile int* of_caller) {
  volatile int own[64];
  own[depth % 64] = depth;
  return depth == 0 ? *of_caller : depth_and_sum(depth - 1, of_caller) + own[depth % 64];
}
__global__ void deep_recursion(int* out, int depth) {
  volatile int mine = threadIdx.x;
  out[threadIdx.x] = depth_and_sum(depth, &mine);
}

__constant__ int table[64];
__global__ void constants(int* out) {
  out[threadIdx.x] = table[63 - threadIdx.x];
}

int main() {
  check(
      "structures by value", 64, [](int* m) { by_value<<<1, 64>>>(m); },
      [](unsigned i) { return 1 + (int)i + 5 + 'z' + 7 - (int)i; });
  check(
      "recursion", 64, [](int* m) { recursion<<<1, 64>>>(m); },
      [](unsigned i) {
        int a = 0, b = 1;
        for (unsigned k = 0; k < i % 10; ++k) b = std::exchange(a, b) + b;
        return a;
      });
  cudaDeviceSetLimit(cudaLimitStackSize, 65536);
  check(
      "deep recursion", 64, [](int* m) { deep_recursion<<<1, 64>>>(m, 150); },
      [](unsigned i) { return (int)(150 * 151 / 2 + i); });
  check(
      "pointers to functions", 64, [](int* m) { through_pointers<<<1, 64>>>(m); },
      [](unsigned i) {
        int x = (int)i;
        return x % 3 == 0 ? x + 1 : x % 3 == 1 ? 2 * x : -x;
      });
  check(
      "virtual functions", 64, [](int* m) { virtual_functions<<<1, 64>>>(m); },
      [](unsigned i) { return (int)(i % 2 ? i * i : i); });
  check(
      "128-bit integers", 128, [](int* m) { wide_integers<<<1, 128>>>(m); },
      [](unsigned i) { return arithmetic_of(i); });
  int squares[64];
  for (int i = 0; i < 64; ++i) squares[i] = i * i;
  cudaMemcpyToSymbol(table, squares, sizeof squares);
  check(
      "constant memory", 64, [](int* m) { constants<<<1, 64>>>(m); },
      [](unsigned i) { return (int)((63 - i) * (63 - i)); });
}
