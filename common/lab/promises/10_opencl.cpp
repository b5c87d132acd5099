// The counters' words are CUDA's: a block is a work-group, a thread a work-item.
#include "promises/usual.hpp"

namespace lab::promises {
namespace {

constexpr std::size_t most_groups = 64; // of the first launch of two_stage

double two_per_item(const Size& s) {
  return 2.0 * s.block;
}
double depth_of_tree(const Size& s) {
  return log2(s.block) + 1;
}
double groups_of_walk(const Size& s) {
  return double(std::clamp<std::size_t>(ceil_div(s.n, 2 * std::size_t{s.block}), 1, most_groups));
}

// Both trees read two elements for each addition, and at the end the result.
std::vector<Promise> pairs_in_place() {
  return {none(Counter::atomic_operations, "items that add in pairs need no atomic"),
          at_most(
              Counter::elements_read_by_thread, [](const Size& s) { return 2 * log_ceil(s.n, 2) + 2; },
              "an item adds one pair in each step; no item may add up alone"),
          at_most(
              Counter::elements_read, [](const Size& s) { return 2.0 * s.n + 1; },
              "each of the n - 1 additions reads two elements, and no two items may add the same pair"),
          the_whole_block_waits()};
}
// Where the stride doubles, the items of a step soon use a sector each; where it halves, neighbours share it.
double half_a_sector_per_element(const Size& s) {
  return s.n / 2.0;
}
Promise stride_doubles() {
  return at_least(Counter::global_load_sectors, half_a_sector_per_element,
                  "the stride must double, so that the elements of a step are ever further apart");
}
// Two sectors for eight pairs as long as there are eight, and two more for each of the last steps.
Promise stride_halves() {
  return at_most(
      Counter::global_load_sectors, [](const Size& s) { return s.n / 4.0 + 3 * log2(s.block); },
      "the stride must halve, so that working items read neighbouring elements, which share sectors");
}
// Only the first item's element is its own; it also stores the result.
Promise first_item_in_every_step() {
  return equal(
      Counter::own_place_stores, [](const Size& s) { return log_ceil(s.n, 2) + 1; },
      "item i must work on element 2 * stride * i, so that item 0 adds to element 0 in every step");
}
// All n - 1 additions, and the store of the result.
Promise each_item_at_its_own_element() {
  return equal(
      Counter::own_place_stores, [](const Size& s) { return double(s.n); },
      "each item below the stride must add to its own element: item i to element i");
}
Promise first_items_work() {
  return at_most(
      Counter::divergent_branches, [](const Size& s) { return 3 * log2(s.block) * s.blocks; },
      "the items that work must be the first ones, without gaps");
}

} // namespace

std::vector<Rung> opencl() {
  return {Rung("modulo_in_place")
              .in_place()
              .up_to(two_per_item)
              .depth(depth_of_tree)
              .promise(pairs_in_place())
              .promise(no_barrier_but_for_the_steps())
              .promise(stride_doubles())
              .promise(at_least(
                  Counter::divergent_branches, [](const Size& s) { return 3.0 * s.warps(); },
                  "the items that work must be those whose element is a multiple of 2 * stride, ever further "
                  "apart")),
          Rung("dense_items")
              .in_place()
              .up_to(two_per_item)
              .depth(depth_of_tree)
              .promise(pairs_in_place())
              .promise(first_item_in_every_step())
              .promise(no_barrier_but_for_the_steps())
              .promise(stride_doubles())
              .promise(first_items_work()),
          Rung("halving_items")
              .in_place()
              .up_to(two_per_item)
              .depth(depth_of_tree)
              .promise(pairs_in_place())
              .promise(no_barrier_but_for_the_steps())
              .adds_in_a_block_like(by_halving_strides, halving_strides, 2)
              .promise(stride_halves())
              .promise(each_item_at_its_own_element())
              .promise(first_items_work()),
          Rung("across_groups")
              .in_place()
              .wrong_on_purpose()
              .up_to([](const Size& s) { return 4.0 * s.block; })
              .promise(pairs_in_place())
              .promise(stride_halves()),
          Rung("two_stage")
              .depth([](const Size& s) {
                return double(ceil_div(s.n, most_groups * s.block)) + 2 * log2(s.block) + most_groups;
              })
              .promise(at_most(
                  Counter::elements_read, [](const Size& s) { return double(s.n) + most_groups; },
                  "each element must be read once, and so must each group's sum"))
              .promise(at_most(
                  Counter::elements_read_by_thread,
                  [](const Size& s) {
                    return double(ceil_div(s.n, std::size_t(groups_of_walk(s)) * s.block)) + 1;
                  },
                  "the walk must be shared by all items of the launch"))
              .promise(neighbours_read_neighbours())
              .promise(one_store_per_block())
              .promise(tree_of_halving_strides())
              .promise(no_barrier_but_for_the_steps())
              .promise(the_whole_block_waits())};
}

} // namespace lab::promises
