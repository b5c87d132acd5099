#include "promises/usual.hpp"

namespace lab::promises {
namespace {

constexpr unsigned most_rows = 600; // of the matrix of index_overflow

double depth_of_elements(const Size& s) {
  return 32.0 + log2(s.block) + ceil_div(s.n, 32);
}

Promise one_atomic_per_warp() {
  return equal(
      Counter::atomic_operations, [](const Size& s) { return s.blocks * s.warps(); },
      "one atomic per warp adds the warp's value to the result");
}
Promise one_barrier_per_step() {
  return equal(
      Counter::barriers_per_block, [](const Size& s) { return log2(s.block) + 1; },
      "one barrier after each step, and one before the first");
}
Promise five_shuffles() {
  return equal(
      Counter::shuffles, [](const Size& s) { return 5 * s.blocks * s.warps(); },
      "five shuffles add up a warp");
}
Promise two_stages() {
  return equal(
      Counter::shuffles, [](const Size& s) { return 5 * s.blocks * (s.warps() + 1); },
      "five shuffles add up a warp, and five more the warps' sums");
}

} // namespace

std::vector<Rung> hazards() {
  return {Rung("missing_barrier")
              .broken()
              .depth(depth_of_walk)
              .promise(one_barrier_per_step())
              .promise(one_atomic_per_block()),
          Rung("divergent_barrier")
              .broken()
              .depth(depth_of_walk)
              .promise(one_barrier_per_step())
              .promise(one_atomic_per_block()),
          Rung("unwritten_shared")
              .broken()
              .depth(depth_of_elements)
              .promise(one_barrier_per_step())
              .promise(one_atomic_per_block()),
          Rung("volatile_tail")
              .broken()
              .block_sizes(64, 1024)
              .depth(depth_of_walk)
              .promise(equal(
                  Counter::barriers_per_block, [](const Size& s) { return log2(s.block / 32); },
                  "the last warp needs no barrier of the whole block"))
              .promise(one_atomic_per_block()),
          Rung("absent_lanes")
              .broken()
              .depth(depth_of_elements)
              .promise(five_shuffles())
              .promise(one_atomic_per_warp()),
          Rung("stale_reads")
              .broken()
              .depth(depth_of_walk)
              .promise(two_stages())
              .promise(one_atomic_per_block())
              .promise(equal(Counter::shared_load_requests, once_per_block,
                             "the warps' sums are to be read from shared memory once")),
          Rung("across_blocks")
              .broken()
              .same_bits()
              .depth(depth_of_walk)
              .promise(at_most(
                  Counter::launches, [](const Size&) { return 2.0; },
                  "a second launch waits for all blocks of the first"))
              .promise(at_most(Counter::atomic_operations, once_per_block,
                               "no more than one atomic per block is needed to know which is the last")),
          Rung("narrow_fence")
              .broken()
              .same_bits()
              .depth(depth_of_walk)
              .promise(equal(
                  Counter::launches, [](const Size&) { return 1.0; },
                  "one launch, whose last block finishes"))
              .promise(equal(Counter::atomic_operations, once_per_block, "one ticket per block")),
          Rung("open_lock")
              .broken()
              .depth(depth_of_walk)
              .promise(equal(
                  Counter::launches, [](const Size&) { return 1.0; },
                  "one launch, in which blocks take turns")),
          Rung("lost_tail")
              .broken()
              .depth(depth_of_elements)
              .promise(equal(
                  Counter::blocks, [](const Size& s) { return double(ceil_div(s.n, s.block)); },
                  "one thread per element, and no block without any"))
              .promise(two_stages())
              .promise(one_atomic_per_block()),
          Rung("wrong_identity")
              .broken()
              .with(Operator::max)
              .promise(five_shuffles())
              .promise(one_atomic_per_warp()),
          Rung("index_overflow")
              .broken()
              .up_to([](const Size&) { return double(most_rows); })
              .promise(two_stages())
              .promise(one_atomic_per_block())};
}

} // namespace lab::promises
