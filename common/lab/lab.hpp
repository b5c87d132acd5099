// All that a lab sees of the lab library.
//
// A lab is one .cu file: its kernels, one host function for each rung, and a main() that names the rungs:
//
//   int main(int argc, char** argv) {
//     return lab::main(argc, argv, {lab::Rung("naive_atomic").on(naive_atomic).promise(...)});
//   }
//
// nvcc compiles this header again at each edit of a lab, so it includes next to nothing; what it declares is
// a library that the host compiler builds once.
#pragma once

#include <cstddef>
#include <initializer_list>

namespace lab {

// -----------------------------------------------------------------------------------------------------------
// For kernels and host functions.

// Blocks (or tiles, or rows) of `size` that it takes to cover n elements: n / size, rounded up.
constexpr std::size_t ceil_div(std::size_t n, std::size_t size) {
  return (n + size - 1) / size;
}

// The mask of a shuffle or vote in which all 32 lanes of a warp take part.
constexpr unsigned all_lanes = 0xffffffff;

// Multiprocessors of the device in use.
unsigned multiprocessors();

// Blocks of `block` threads that the whole device can hold at the same time, going by threads alone.
unsigned resident_blocks(unsigned block);

// Device memory for a rung's own partial results: `bytes` bytes, aligned to 256, with arbitrary contents.
// Each call within one run of a rung gives another buffer; all of them are taken back when the rung returns.
void* scratch_bytes(std::size_t bytes);
template <class T>
T* scratch(std::size_t count) {
  return static_cast<T*>(scratch_bytes(count * sizeof(T)));
}

// -----------------------------------------------------------------------------------------------------------
// What a rung is.

enum class Type { float32, float64, int32, uint32 };
enum class Operator { add, min, max, product };

// What a bound may depend on.
struct Size {
  std::size_t n = 0;    // elements that were reduced
  unsigned block = 0;   // threads a block that the rung was asked for
  double blocks = 0;    // blocks that ran, all launches together (0 where nothing has run yet)
  std::size_t rows = 1; // results; n / rows elements go into each
  unsigned warps() const { return (block + 31) / 32; }
};
using Formula = double (*)(const Size&);

// For bounds. log2 of a power of two; the least k with base^k >= n, but 1 at least.
constexpr double log2(unsigned power_of_two) {
  double steps = 0;
  for (; power_of_two > 1; power_of_two /= 2) ++steps;
  return steps;
}
constexpr double log_ceil(std::size_t n, double base) {
  double k = 1;
  for (double reach = base; reach < static_cast<double>(n); reach *= base) ++k;
  return k;
}

// What can be counted while a rung runs. counters.def names each and says how it is read from the emulator's
// report.
enum class Counter {
#define WARPFOLD_COUNTER(name, ...) name,
#include "promises/promised_counters.def"
#undef WARPFOLD_COUNTER
};

// What a rung promises to do: a counter held against a bound, or against what another rung of the same lab
// does. `lesson` says to the student what a broken promise means; it completes the sentence "<measured>,
// <bound> expected: ".
struct Promise {
  enum class Relation { equal, at_most, at_least, fewer_than_rung };
  Counter counter{};
  Relation relation{};
  Formula bound = nullptr;
  const char* other_rung = nullptr;
  const char* lesson = "";
};

inline Promise equal(Counter counter, Formula bound, const char* lesson) {
  return {counter, Promise::Relation::equal, bound, nullptr, lesson};
}
inline Promise at_most(Counter counter, Formula bound, const char* lesson) {
  return {counter, Promise::Relation::at_most, bound, nullptr, lesson};
}
inline Promise at_least(Counter counter, Formula bound, const char* lesson) {
  return {counter, Promise::Relation::at_least, bound, nullptr, lesson};
}
inline Promise none(Counter counter, const char* lesson) {
  return {counter, Promise::Relation::equal, [](const Size&) { return 0.0; }, nullptr, lesson};
}
inline Promise fewer_than(const char* other_rung, Counter counter, const char* lesson) {
  return {counter, Promise::Relation::fewer_than_rung, nullptr, other_rung, lesson};
}

// How a rung's host function is called, whatever its signature.
struct Arguments {
  void* input = nullptr;  // device; n elements
  void* result = nullptr; // device; one element a row
  std::size_t n = 0, rows = 1;
  unsigned block = 0;
};
struct Variant {
  using Function = void (*)();
  Type type{};
  bool in_place = false, by_rows = false;
  Function function = nullptr;
  void (*invoke)(Function, const Arguments&) = nullptr;
};

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

// One way to reduce. Its host function reduces n elements at `input` to one at `result` (both on the device),
// launches its kernels on the default stream with `block` threads a block, and need neither check for errors
// nor wait.
class Rung {
public:
  explicit Rung(const char* rung_name) : name(rung_name) {}

  template <class T>
  Rung& on(void (*reduce)(const T* input, T* result, std::size_t n, unsigned block)) {
    return add({TypeOf<T>::value, false, false, reinterpret_cast<Variant::Function>(reduce),
                [](Variant::Function function, const Arguments& a) {
                  reinterpret_cast<void (*)(const T*, T*, std::size_t, unsigned)>(function)(
                      static_cast<const T*>(a.input), static_cast<T*>(a.result), a.n, a.block);
                }});
  }
  // In place: the input may be overwritten.
  template <class T>
  Rung& on(void (*reduce)(T* data, T* result, std::size_t n, unsigned block)) {
    return add({TypeOf<T>::value, true, false, reinterpret_cast<Variant::Function>(reduce),
                [](Variant::Function function, const Arguments& a) {
                  reinterpret_cast<void (*)(T*, T*, std::size_t, unsigned)>(function)(
                      static_cast<T*>(a.input), static_cast<T*>(a.result), a.n, a.block);
                }});
  }
  // One result for each row of a matrix, stored row after row.
  template <class T>
  Rung& on(void (*reduce)(const T* matrix, T* results, std::size_t rows, std::size_t columns,
                          unsigned block)) {
    return add({TypeOf<T>::value, false, true, reinterpret_cast<Variant::Function>(reduce),
                [](Variant::Function function, const Arguments& a) {
                  reinterpret_cast<void (*)(const T*, T*, std::size_t, std::size_t, unsigned)>(function)(
                      static_cast<const T*>(a.input), static_cast<T*>(a.result), a.rows,
                      a.rows ? a.n / a.rows : 0, a.block);
                }});
  }

  Rung& with(Operator operation) { return op = operation, *this; }
  // Uses what this rung's regions hold: as long as those are to be filled, so is this one.
  Rung& builds_on(const char* rung) { return base = rung, *this; }
  Rung& up_to(Formula elements) { return max_n = elements, *this; }
  Rung& block_sizes(unsigned smallest, unsigned largest) {
    return min_block = smallest, max_block = largest, *this;
  }
  // The longest chain of additions that an element goes through; the rounding error is at most this many unit
  // round-offs of the sum of magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, section
  // 4.2). A product is off by one for each of its n - 1 roundings, whatever the order: this is for sums.
  Rung& depth(Formula additions) { return error_depth = additions, *this; }
  Rung& promise(const Promise& kept) {
    if (promise_count < max_promises) promises[promise_count] = kept;
    return ++promise_count, *this; // one too many is reported by lab::main
  }
  // The same bits from the same input, however often it runs.
  Rung& same_bits() { return deterministic = true, *this; }
  // And with any number of threads a block.
  Rung& same_bits_for_any_block() { return deterministic = any_block = true, *this; }
  // Checked on more inputs, made for trouble with a sum of 2^24 and small terms: see sequence.hpp, stalling.
  Rung& meets_stalling() { return stalling = true, *this; }
  // Handed out with a mistake in its regions, which the student finds and repairs.
  Rung& broken() { return to_repair = true, *this; }
  // Promises hold on devices of this compute capability (80 for 8.0) and above only.
  Rung& promises_from(int compute_capability) { return promise_capability = compute_capability, *this; }
  // On a GPU: at least this part of the read bandwidth that the same run measures, for 2^28 elements.
  Rung& reaches(double part_of_bandwidth) { return least_bandwidth = part_of_bandwidth, *this; }

  static constexpr int max_variants = 4, max_promises = 8;
  const char* name;
  Variant variants[max_variants];
  int variant_count = 0;
  Operator op = Operator::add;
  const char* base = nullptr;
  Formula max_n = nullptr; // null: any n
  unsigned min_block = 32, max_block = 1024;
  Formula error_depth = nullptr; // null: n - 1
  Promise promises[max_promises];
  int promise_count = 0;
  bool deterministic = false, any_block = false, stalling = false, to_repair = false;
  int promise_capability = 0;
  double least_bandwidth = 0;

private:
  Rung& add(const Variant& variant) {
    if (variant_count < max_variants) variants[variant_count] = variant;
    return ++variant_count, *this;
  }
};

// Checks, profiles or times the rungs, as the command line says (--help), and gives the process's exit code.
// `source` is the lab's own file, read at run time to see which regions are still to be filled.
int main(int argc, char** argv, std::initializer_list<Rung> rungs, const char* source = __builtin_FILE());

} // namespace lab
