#include "promises/usual.hpp"

namespace lab::promises {
namespace {

// The same kernel for each operator.
Rung in_two_launches(const char* name, Operator operation) {
  return Rung(name)
      .with(operation)
      .same_bits()
      .depth([](const Size& s) { // a thread's walk over the input, then over the blocks' results
        return elements_of_walk(s) + ceil_div(resident_blocks(s.block), s.block) + 20;
      })
      .promise(none(Counter::atomic_operations, "block results must go to memory, one element per block"))
      .promise(both_walks_are_spread())
      .promise(walk_steps_by_the_grid())
      .promise(equal(
          Counter::elements_read, [](const Size& s) { return double(s.n) + resident_blocks(s.block); },
          "each element must be read once, and so must each block's result"))
      .promise(neighbours_read_neighbours())
      .promise(one_read_per_warp_sum())
      .promise(equal(
          Counter::launches, [](const Size&) { return 2.0; }, "the same kernel runs twice"))
      .promise(equal(
          Counter::shared_store_requests, [](const Size& s) { return s.blocks * s.warps(); },
          "each warp must leave exactly one value in shared memory"))
      .promise(equal(
          Counter::shuffles, [](const Size& s) { return s.blocks * 5 * (s.warps() + 1); },
          "a warp's 32 values must be combined by five shuffles"));
}

} // namespace

std::vector<Rung> operators() {
  return {
      in_two_launches("add", Operator::add).tried_beyond_32_bits(Beyond32Bits::in_a_walk, threads_of_walk),
      in_two_launches("min", Operator::min).builds_on("add"),
      in_two_launches("max", Operator::max).builds_on("add"),
      in_two_launches("product", Operator::product).builds_on("add")};
}

} // namespace lab::promises
