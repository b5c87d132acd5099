// In OpenCL's words: a block is a work-group, a thread a work-item.
#include "promises/usual.hpp"

namespace lab::promises {
namespace {

double two_per_item(const Size& s) {
  return 2.0 * s.block;
}
double two_per_item_and_as_many_again(const Size& s) {
  return 4.0 * s.block;
}
double depth_of_tree(const Size& s) {
  return log2(s.block) + 1;
}

// In each step an item reads one element and adds another to it. Twice as many uses are allowed, for code
// that names an array more often.
Promise by_all_items() {
  return at_most(
      Counter::uses_by_item, [](const Size& s) { return 4 * log_ceil(s.n, 2) + 4; },
      "an item adds one pair in each step; no item may add up alone");
}
// The uses by the first 32 items if they work as long as there are pairs for them: two in each step.
double uses_of_dense_items(const Size& s) {
  return 2 * (32 * (log_ceil(s.n, 2) - 5) - 1);
}
double an_eighth(const Size& s) {
  const std::size_t elements = s.n / 8;
  return double(elements);
}

} // namespace

std::vector<Rung> opencl() {
  return {
      Rung("modulo_in_place")
          .in_place()
          .up_to(two_per_item)
          .depth(depth_of_tree)
          .promise(by_all_items())
          .promise(
              at_most(Counter::uses_by_first_items, uses_of_dense_items,
                      "the items that work must be those whose element is a multiple of 2 * stride, ever "
                      "further apart"))
          .promise(
              at_least(Counter::changed_in_upper_half, an_eighth,
                       "the stride must double: each element that is a multiple of 2 * stride takes up its "
                       "neighbour")),
      Rung("dense_items")
          .in_place()
          .up_to(two_per_item)
          .depth(depth_of_tree)
          .promise(by_all_items())
          .promise(at_least(Counter::uses_by_first_items, uses_of_dense_items,
                            "the items that work must be the first ones, without gaps"))
          .promise(
              at_least(Counter::changed_in_upper_half, an_eighth,
                       "the stride must double: the additions are those of modulo_in_place, by other items")),
      Rung("halving_items")
          .in_place()
          .up_to(two_per_item)
          .depth(depth_of_tree)
          .promise(by_all_items())
          .promise(at_least(Counter::uses_by_first_items, uses_of_dense_items,
                            "the items that work must be the first ones, without gaps"))
          .promise(none(Counter::changed_in_upper_half,
                        "the stride must halve: the upper half is added to the lower one")),
      Rung("across_groups")
          .in_place()
          .wrong_on_purpose()
          .up_to([](const Size& s) { return 4.0 * s.block; })
          .promise(by_all_items())
          .promise(at_most(Counter::uses_by_last_group, two_per_item_and_as_many_again,
                           "the items must be those of the whole launch, get_global_id(0): each group has a "
                           "part of its own in a step, and after the first one the last group rests"))
          .promise(none(Counter::changed_in_upper_half,
                        "the stride must halve: the upper half is added to the lower one")),
      Rung("two_stage")
          .depth([](const Size& s) {
            return double(ceil_div(s.n, 64 * std::size_t{s.block})) + 2 * log2(s.block) + 64;
          })
          .promise(at_most(
              Counter::uses_by_item,
              [](const Size& s) { // in both launches: its walk, and two or so in each step of the tree
                return double(ceil_div(s.n, std::size_t(s.blocks) * s.block)) + 8 * log2(s.block) + 8;
              },
              "the walk must be shared by all items, and so must each step of the tree"))};
}

} // namespace lab::promises
