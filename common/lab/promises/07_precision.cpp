#include "promises/usual.hpp"

#include <algorithm>

namespace lab::promises {
namespace {

constexpr unsigned chains = 1 << 16; // of fixed_order

// The levels above a thread's walk over its elements: block, blocks of a thread, block.
double levels(const Size& s) {
  return 2 * log2(s.block) + ceil_div(resident_blocks(s.block), s.block);
}

Promise no_atomic() {
  return none(Counter::atomic_operations,
              "atomics add in whatever order their threads come, so the last bits differ from run to run");
}
Promise in_float() {
  return none(Counter::double_instructions, "this rung adds in float");
}
Promise two_launches() {
  return equal(
      Counter::launches, [](const Size&) { return 2.0; },
      "one launch for the blocks, and one that adds up their sums");
}
// Of the elements, and then of the warps' sums.
Promise neighbours_read_neighbours_twice() {
  Promise promise = neighbours_read_neighbours();
  promise.bound = [](const Size& s) {
    constexpr std::size_t sectors_of_sums = chains / 32 / 8;
    return double(ceil_div(s.n, 8) + sectors_of_sums) + s.blocks + 8;
  };
  return promise;
}
Promise halving_stride() {
  return none(Counter::bank_conflicts, "the stride must halve: neighbours add neighbours");
}

float from_first_to_last(const std::vector<float>& elements, unsigned) {
  float sum = 0;
  for (const float each : elements) sum += each;
  return sum;
}
float by_chains(const std::vector<float>& elements, unsigned) {
  std::vector<float> sums(chains);
  for (std::size_t i = 0; i < elements.size(); ++i) sums[i % chains] += elements[i];
  std::vector<float> of_warps;
  for (auto lanes = sums.begin(); lanes != sums.end(); lanes += 32)
    of_warps.push_back(by_halving_strides({lanes, lanes + 32}, 32));
  return by_halving_strides(of_warps, chains / 32);
}

} // namespace

std::vector<Rung> precision() {
  return {
      Rung("sequential_float")
          .meets_stalling()
          .same_bits()
          .up_to([](const Size&) { return 0x1p20; }) // one thread: more takes long
          .promise(equal(
              Counter::elements_read, [](const Size& s) { return double(s.n); },
              "each element must be read once, and added immediately"))
          .promise(in_float())
          .promise(equal(Counter::launches, one, "one launch does everything"))
          .promise(none(Counter::atomic_operations, "one thread adds in a register"))
          .promise(none(Counter::shared_accesses, "one thread adds in a register"))
          .adds_like(from_first_to_last, "from the first to the last")
          .promise(at_most(
              Counter::simt_efficiency, [](const Size&) { return 1.0 / 32; },
              "one thread adds, and the 31 others of its warp have nothing to do")),
      Rung("tree_float")
          .meets_stalling()
          .same_bits()
          .depth([](const Size& s) { return log_ceil(s.n, s.block) * log2(s.block); })
          .promise(no_atomic())
          .promise(in_float())
          .promise(each_thread_reads_at_most(one_element))
          .promise(at_least(
              Counter::elements_read, [](const Size& s) { return double(s.n); },
              "the first pass must read every element"))
          .promise(neighbours_read_neighbours())
          .promise(tree_of_halving_strides())
          .promise(the_whole_block_waits())
          .promise(equal(
              Counter::barriers_per_block, [](const Size& s) { return log2(s.block) + 1; },
              "one barrier per level of the tree, and one before it"))
          .adds_like(by_halving_strides, halving_strides),
      Rung("kahan")
          .meets_stalling()
          .steps_as_kahan()
          .same_bits()
          // 2 u for each element on its walk, 1 u where the excess is taken off at the end. The tree
          // loses nothing but the roundings of what is itself a rounding.
          .depth([](const Size& s) {
            constexpr double u = 0x1p-24;
            return 3 + (4 * elements_of_walk(s) + levels(s) * levels(s)) * u;
          })
          .promise(no_atomic())
          .promise(none(Counter::double_instructions,
                        "Kahan summation must not use doubles: it keeps what a float loses"))
          .promise(both_walks_are_spread<2>())
          .promise(at_least(
              Counter::elements_read, [](const Size& s) { return double(s.n); },
              "every element must be read"))
          .promise(neighbours_read_neighbours())
          .promise(two_launches()),
      Rung("double_accumulator")
          .meets_stalling()
          .rounds_at_the_end()
          .same_bits()
          .depth([](const Size& s) { return 1 + (elements_of_walk(s) + levels(s)) * 0x1p-29; })
          .promise(no_atomic())
          .promise(both_walks_are_spread<2>())
          .promise(at_least(
              Counter::double_instructions, [](const Size& s) { return double(s.n) / 32; },
              "each element must be added in double"))
          .promise(none(Counter::float_additions, "each addition must be done in double, not in floats"))
          .promise(at_most(
              Counter::double_instructions,
              [](const Size& s) {
                const double walks = resident_blocks(s.block) * (elements_of_walk(s) + 2 * log2(s.block));
                return s.warps() * (walks + 32) * 1.5;
              },
              "an addition in double is one instruction, where Kahan's takes four"))
          .promise(neighbours_read_neighbours())
          .promise(two_launches()),
      Rung("fixed_order")
          .tried_beyond_32_bits(Beyond32Bits::in_a_walk, [](const Size&) { return double(chains); })
          .meets_stalling()
          .same_bits_for_any_block()
          .depth([](const Size& s) { return ceil_div(s.n, chains) + log2(chains); })
          .promise(no_atomic())
          .promise(in_float())
          .promise(each_thread_reads_at_most([](const Size& s) {
            return double(std::max(ceil_div(s.n, chains), ceil_div(chains / 32, s.block)));
          }))
          .promise(equal(
              Counter::elements_read,
              [](const Size& s) {
                const std::size_t sums_of_warps = chains / 32;
                return double(s.n + sums_of_warps);
              },
              "each element must be read once, and so must each warp's sum"))
          .promise(neighbours_read_neighbours_twice())
          .promise(two_launches())
          .promise(at_most(
              Counter::shared_elements_read_by_thread,
              [](const Size& s) { return 2.0 * (double(chains) / 32 / s.block + log2(s.block)) + 2; },
              "all threads of the last block must work on the tree"))
          .adds_like(by_chains,
                     "chain by chain, each from its first element to its last, and then by halving strides",
                     7 * chains + 1001)
          .promise(halving_stride())};
}

} // namespace lab::promises
