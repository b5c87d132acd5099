// In OpenCL's words: a block is a work-group, a thread a work-item.
#include "promises/usual.hpp"

namespace lab::promises {
namespace {

double two_per_item(const Size& s) {
  return 2.0 * s.block;
}
double depth_of_tree(const Size& s) {
  return log2(s.block) + 1;
}

} // namespace

std::vector<Rung> opencl() {
  return {
      Rung("modulo_in_place").in_place().up_to(two_per_item).depth(depth_of_tree),
      Rung("dense_items").in_place().up_to(two_per_item).depth(depth_of_tree),
      Rung("halving_items").in_place().up_to(two_per_item).depth(depth_of_tree),
      Rung("across_groups").in_place().wrong_on_purpose().up_to([](const Size& s) { return 4.0 * s.block; }),
      Rung("two_stage").depth([](const Size& s) {
        return double(ceil_div(s.n, 64 * std::size_t{s.block})) + 2 * log2(s.block) + 64;
      })};
}

} // namespace lab::promises
