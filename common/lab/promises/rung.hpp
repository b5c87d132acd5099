// What a rung promises, and what a bound may depend on.
//
// The promises of a lab's rungs are in one file beside this one, which labs/ and solutions/ share:
//
//   std::vector<Rung> naive_atomic() {
//     return {Rung("naive_atomic")
//                 .promise(equal(Counter::atomic_operations, [](const Size& s) { return double(s.n); },
//                 "..."))};
//   }
#pragma once

#include "lab.hpp"

#include <optional>
#include <string>
#include <vector>

namespace lab {

// What a bound may depend on.
struct Size {
  std::size_t n = 0;                // elements to reduce
  unsigned block = 0;               // threads per block, as requested
  double blocks = 0;                // blocks that ran, in all launches together (0 if nothing has run yet)
  std::size_t rows = 1;             // results; n / rows elements go into each
  unsigned elements_per_thread = 0; // if the lab's main() gives it
  unsigned devices = 1;             // that share the elements
  unsigned warps() const { return (block + 31) / 32; }
};
using Formula = double (*)(const Size&);

// For bounds: log2 of a power of two; the least k with base^k >= n, but at least 1.
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

// What a rung makes of each row of a matrix, if it does not reduce it: a result for each element.
enum class RowFunction {
  none,
  softmax,  // exp(x - max) / sum of exp(x - max), over the row
  rms_norm, // x / sqrt(mean of x^2 + rms_norm_epsilon), over the row
};
inline constexpr double rms_norm_epsilon = 1e-5;

// What can be counted while a rung runs. promised_counters.def names each counter and says how to read it
// from the emulator's report.
enum class Counter {
#define WARPFOLD_COUNTER(name, ...) name,
#include "promises/promised_counters.def"
#undef WARPFOLD_COUNTER
};

// What a rung promises to do: a counter is compared with a bound. The bound never depends on another rung,
// which may be the student's, and wrong. `lesson` tells the student what a broken promise means; it completes
// the sentence "<measured>, <bound> expected: ".
struct Promise {
  enum class Relation { equal, at_most, at_least };
  Counter counter{};
  Relation relation{};
  Formula bound = nullptr;
  const char* lesson = "";
};

inline Promise equal(Counter counter, Formula bound, const char* lesson) {
  return {counter, Promise::Relation::equal, bound, lesson};
}
inline Promise at_most(Counter counter, Formula bound, const char* lesson) {
  return {counter, Promise::Relation::at_most, bound, lesson};
}
inline Promise at_least(Counter counter, Formula bound, const char* lesson) {
  return {counter, Promise::Relation::at_least, bound, lesson};
}
inline Promise none(Counter counter, const char* lesson) {
  return {counter, Promise::Relation::equal, [](const Size&) { return 0.0; }, lesson};
}

// Where the blocks of a rung find their elements among more than 2^32 of them.
enum class Beyond32Bits {
  not_tried,
  in_a_walk, // each block begins with the tile at its own place, and goes on by the threads of the grid
  in_tiles,  // each block has the tile of elements at its own place, and the last block the last elements
  in_passes, // the same, and then again with the sums of the blocks
  in_rows,   // the first block has the first row of a matrix, and the last block the last one
};

// One way to reduce.
class Rung {
public:
  explicit Rung(const char* rung_name) : name(rung_name) {
    promise(none(Counter::elements_copied_to_host, "the GPU must add up, not the CPU"));
  }

  Rung& on(const Variant& variant) {
    if (variant_count < max_variants) variants[variant_count] = variant;
    return ++variant_count, *this; // one too many is reported by lab::main
  }
  Rung& with(Operator operation) { return op = operation, *this; }
  Rung& computes(RowFunction of_rows) { return row_function = of_rows, *this; }
  // What its variants compute.
  Operator operator_of(const Variant& variant) const {
    return variant.has_own_operator ? variant.own_operator : op;
  }
  // Uses the regions of that rung: as long as they are still to be filled in, so is this rung.
  Rung& builds_on(const char* rung) { return base = rung, *this; }
  Rung& up_to(Formula elements) { return max_n = elements, *this; }
  Rung& up_to_columns(std::size_t columns) { return max_columns = columns, *this; }
  // Beyond what it takes elsewhere, since there memory that is never accessed occupies none.
  // `what`: what shows there, if it is wrong but right with a quarter as many. `of`: only of this type.
  Rung& tried_on_emulator_with(std::size_t n, const char* what, std::optional<Type> of = std::nullopt) {
    return emulated_n = n, on_emulator_with = what, emulated_type = of, *this;
  }
  // With so many instead, where the emulated device has so many bytes of memory.
  Rung& or_with(std::size_t n, std::size_t memory) {
    return larger_emulated_n = n, memory_for_larger = memory, *this;
  }
  // A matrix this wide is among those that it is tried on.
  Rung& tried_with_columns(std::size_t columns) { return wide_columns = columns, *this; }
  Rung& block_sizes(unsigned smallest, unsigned largest) {
    return min_block = smallest, max_block = largest, *this;
  }
  std::string block_sizes_in_words() const {
    return min_block == max_block ? std::to_string(min_block)
                                  : std::to_string(min_block) + " to " + std::to_string(max_block);
  }
  // The longest chain of additions that an element goes through; the rounding error is at most this many unit
  // round-offs of the sum of magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, section
  // 4.2). This is for sums: a product is off by one for each of its n - 1 roundings, whatever the order.
  Rung& depth(Formula additions) { return error_depth = additions, *this; }
  Rung& promise(const Promise& kept) {
    if (promise_count < max_promises) promises[promise_count] = kept;
    return ++promise_count, *this; // likewise
  }
  Rung& promise(const std::vector<Promise>& kept) {
    for (const Promise& each : kept) promise(each);
    return *this;
  }
  // The number of elements that the lab's own code copies to the host. None unless this is given.
  Rung& on_the_host(Formula elements) { return promises[0].bound = elements, *this; }
  // Up to so many: a library's, which may copy to the host or not.
  Rung& on_the_host_at_most(Formula elements) {
    return promises[0].relation = Promise::Relation::at_most, on_the_host(elements);
  }
  // The same input gives the same bits, however often it runs.
  Rung& same_bits() { return deterministic = true, *this; }
  // And with any number of threads per block.
  Rung& same_bits_for_any_block() { return deterministic = any_block = true, *this; }
  // Also checked on inputs that are hard for a sum, with 2^24 and small terms: see sequence.hpp, stalling.
  Rung& meets_stalling() { return stalling = true, *this; }
  // Also checked on an input that only sums in double add up right, and all of them exactly.
  Rung& rounds_at_the_end() { return cancelling = true, *this; }
  // Its region is a step of Kahan's summation, whose mistakes are known (explain/mistakes_in_kahan.cpp).
  Rung& steps_as_kahan() { return is_kahan = true, *this; }
  // Handed out with a mistake in its regions, which the student finds and repairs.
  Rung& broken() { return to_repair = true, *this; }
  // On float: so many elements are added in this order, so the result has the bits of `model`. `order`
  // continues "the elements must be added".
  Rung& adds_like(float (*model)(const std::vector<float>& elements, unsigned block), const char* order,
                  std::size_t elements = 5000) {
    return ordered_elements = elements, in_order = model, order_in_words = order, *this;
  }
  // The same for one block with so many elements per thread: the blocks' sums are added in any order.
  Rung& adds_in_a_block_like(float (*model)(const std::vector<float>& elements, unsigned block),
                             const char* order, unsigned elements_per_thread) {
    return ordered_per_thread = elements_per_thread, adds_like(model, order);
  }
  // Also tried among more than 2^32 elements (judge/beyond_32_bits.hpp). `threads`: of a walk's grid.
  Rung& tried_beyond_32_bits(Beyond32Bits where, Formula threads = nullptr) {
    return beyond_32_bits = where, walking_threads = threads, *this;
  }
  // On the emulator it is also tried with so many elements on a device with one multiprocessor, where its
  // grid is small. `what`: what shows there, if anything is wrong.
  Rung& tried_on_small_device(std::size_t n, const char* what) {
    return small_device_n = n, on_small_device = what, *this;
  }
  // Its promises are held with so many elements, too, where a bound is reached exactly. No rows: no matrix.
  Rung& also_counted_with(Formula elements, std::size_t of_rows = 0) {
    return further_counts.emplace_back(elements, of_rows), *this;
  }
  // Promises hold only on devices of at least this compute capability (80 for 8.0).
  Rung& promises_from(int compute_capability) { return promise_capability = compute_capability, *this; }
  // On a GPU of a lower compute capability it is not run at all.
  Rung& needs(int compute_capability) { return least_capability = compute_capability, *this; }
  // The host function reads so many elements back and finishes with them. When a class is graded, the host
  // functions of other rungs see nothing of the device's memory.
  Rung& finishes_on_host(Formula elements) { return most_read_back = elements, *this; }
  // On a GPU: at least this share of the read bandwidth that the same run measures, for 2^28 elements.
  Rung& reaches(double share_of_bandwidth) { return least_bandwidth = share_of_bandwidth, *this; }
  // For OpenCL, where the host function's signature does not say it: the input may be overwritten.
  Rung& in_place() { return overwrites_input = true, *this; }
  // For OpenCL: with several work-groups, this rung cannot be right (program/check_rung.hpp).
  Rung& wrong_on_purpose() { return cannot_be_right = true, *this; }

  Size size(std::size_t n, unsigned block, double blocks = 0, std::size_t rows = 1,
            unsigned devices = 1) const {
    return {n, block, blocks, rows, elements_per_thread, devices};
  }
  // With this many threads per block.
  std::size_t most_elements(unsigned block) const {
    return max_n ? static_cast<std::size_t>(max_n(size(0, block))) : static_cast<std::size_t>(-1);
  }

  static constexpr int max_variants = Implementation::max_variants, max_promises = 20;
  const char* name;
  Variant variants[max_variants];
  int variant_count = 0;
  unsigned elements_per_thread = 0; // as the lab's main() gives it
  Operator op = Operator::add;
  RowFunction row_function = RowFunction::none;
  std::size_t max_columns = static_cast<std::size_t>(-1), wide_columns = 0, emulated_n = 0,
              larger_emulated_n = 0, memory_for_larger = 0;
  const char* base = nullptr;
  Formula max_n = nullptr; // null: any n
  unsigned min_block = 32, max_block = 1024;
  Formula error_depth = nullptr;                               // null: n - 1
  Formula most_read_back = nullptr;                            // null: nothing
  std::vector<std::pair<Formula, std::size_t>> further_counts; // elements and rows
  Promise promises[max_promises];
  int promise_count = 0;
  bool deterministic = false, any_block = false, stalling = false, cancelling = false, is_kahan = false,
       to_repair = false;
  Beyond32Bits beyond_32_bits{};
  Formula walking_threads = nullptr;
  std::size_t small_device_n = 0;
  const char *on_small_device = "", *on_emulator_with = "";
  std::optional<Type> emulated_type;
  bool overwrites_input = false, cannot_be_right = false;
  int promise_capability = 0, least_capability = 0;
  double least_bandwidth = 0;
  float (*in_order)(const std::vector<float>& elements, unsigned block) = nullptr;
  const char* order_in_words = "";
  std::size_t ordered_elements = 0;
  unsigned ordered_per_thread = 0; // elements, of one block; 0: `ordered_elements`
};

// The promises of a rung of the course, without a host function; and its first promise on a counter, or the
// one with a certain relation. These are for programs with variations of the rung, such as the tests'
// mutants. They throw std::invalid_argument if there is none.
Rung promised(const char* lab, const char* rung);
Promise promised(const char* lab, const char* rung, Counter counter);
Promise promised(const char* lab, const char* rung, Counter counter, Promise::Relation relation);

// Like lab::main of lab.hpp, for rungs that bring their own promises along.
int main(int argc, char** argv, std::initializer_list<Rung> rungs, const char* source = __builtin_FILE());

} // namespace lab
