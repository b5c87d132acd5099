// All that a lab sees of the lab library.
//
// A lab is one .cu file: its kernels, a host function for each rung, and a main() that names the rungs:
//
//   int main(int argc, char** argv) {
//     return lab::main(argc, argv, {{"naive_atomic", naive_atomic}});
//   }
//
// What its rungs promise stands in promises/, one file for each lab, which labs/ and solutions/ share.
//
// nvcc compiles this header again at each edit of a lab, so it includes next to nothing; what it declares is
// a library that the host compiler builds once.
#pragma once

#include <cstddef>
#include <cstdio> // printf, in kernels too
#include <initializer_list>

namespace lab {

// -----------------------------------------------------------------------------------------------------------
// For kernels and host functions.

// Blocks (or tiles, or rows) of `size` that it takes to cover n elements: n / size, rounded up.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr std::size_t
    ceil_div(std::size_t n, std::size_t size) {
  return (n + size - 1) / size;
}

// The mask of a shuffle or vote in which all 32 lanes of a warp take part.
constexpr unsigned all_lanes = 0xffffffff;

// Multiprocessors of the device in use.
unsigned multiprocessors();

// Blocks of `block` threads that the whole device can hold at the same time, going by threads alone.
unsigned resident_blocks(unsigned block);

// Device memory for a rung's own partial results: `bytes` bytes, aligned to 256, with arbitrary contents.
// Each call within one run of a rung returns another buffer; all of them are taken back when the rung
// returns.
void* scratch_bytes(std::size_t bytes);
template <class T>
T* scratch(std::size_t count) {
  return static_cast<T*>(scratch_bytes(count * sizeof(T)));
}

// -----------------------------------------------------------------------------------------------------------
// For main().

enum class Operator { add, min, max, product, bitwise_and };

enum class Type { float32, float64, int32, uint32 };

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr Type value = Type::float32;
};
template <>
struct TypeOf<double> {
  static constexpr Type value = Type::float64;
};
template <>
struct TypeOf<int> {
  static constexpr Type value = Type::int32;
};
template <>
struct TypeOf<unsigned> {
  static constexpr Type value = Type::uint32;
};

// What a host function is called with, whatever its signature.
struct Arguments {
  void* input = nullptr;  // on the device; n elements
  void* result = nullptr; // on the device; one element per row
  std::size_t n = 0, rows = 1;
  unsigned block = 0;
};

// A rung's host function for one element type. It reduces n elements at `input` to one at `result` (both on
// the device), launches its kernels on the default stream with `block` threads per block, and need neither
// check for errors nor wait.
struct Variant {
  using Function = void (*)();

  Variant() = default;
  template <class T>
  Variant(void (*reduce)(const T* input, T* result, std::size_t n, unsigned block))
      : type(TypeOf<T>::value), function(reinterpret_cast<Function>(reduce)),
        invoke([](Function called, const Arguments& a) {
          reinterpret_cast<void (*)(const T*, T*, std::size_t, unsigned)>(called)(
              static_cast<const T*>(a.input), static_cast<T*>(a.result), a.n, a.block);
        }) {}
  // In place: the input may be overwritten.
  template <class T>
  Variant(void (*reduce)(T* data, T* result, std::size_t n, unsigned block))
      : type(TypeOf<T>::value), in_place(true), function(reinterpret_cast<Function>(reduce)),
        invoke([](Function called, const Arguments& a) {
          reinterpret_cast<void (*)(T*, T*, std::size_t, unsigned)>(called)(
              static_cast<T*>(a.input), static_cast<T*>(a.result), a.n, a.block);
        }) {}
  // One result for each row of a matrix, stored row after row.
  template <class T>
  Variant(void (*reduce)(const T* matrix, T* results, std::size_t rows, std::size_t columns, unsigned block))
      : type(TypeOf<T>::value), by_rows(true), function(reinterpret_cast<Function>(reduce)),
        invoke([](Function called, const Arguments& a) {
          reinterpret_cast<void (*)(const T*, T*, std::size_t, std::size_t, unsigned)>(called)(
              static_cast<const T*>(a.input), static_cast<T*>(a.result), a.rows, a.rows ? a.n / a.rows : 0,
              a.block);
        }) {}

  // Reduces by another operator than its rung does: a kernel that is to leave the operator to its caller is
  // tried with that one too.
  Variant& tried_with(Operator other) { return has_own_operator = true, own_operator = other, *this; }

  Type type{};
  Operator own_operator{};
  bool has_own_operator = false;
  bool in_place = false, by_rows = false;
  Function function = nullptr;
  void (*invoke)(Function, const Arguments&) = nullptr;
};

// A rung by its name, with its host function, or one for each of up to four element types, and one that
// tries its kernel with another operator.
struct Implementation {
  static constexpr int max_variants = 5;

  Implementation(const char* rung_name, Variant first, Variant second = {}, Variant third = {},
                 Variant fourth = {}, Variant fifth = {})
      : rung(rung_name), variants{first, second, third, fourth, fifth} {}

  // For a rung whose promise depends on a number that is the reader's to choose.
  Implementation& elements_per_thread(unsigned count) { return per_thread = count, *this; }

  const char* rung;
  Variant variants[max_variants]; // those without a function are not there
  unsigned per_thread = 0;
};

// Checks, profiles or times the rungs, as the command line says (--help), and returns the process's exit
// code. `source` is the lab's own file: its folder bears the lab's name, and it is read at run time to see
// which regions are still to be filled.
int main(int argc, char** argv, std::initializer_list<Implementation> rungs,
         const char* source = __builtin_FILE());

} // namespace lab
