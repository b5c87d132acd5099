// Where lanes that diverge at a branch come together again: the post-dominators behind `basic_blocks`.
#pragma once

#include "ptx/control_flow.hpp"

#include <vector>

namespace warpfold::ptx {

// Fills in `post_dominator` of blocks whose `successors` are known.
//
// A lane that leaves the function is not waited for, or `if (i < n) { assert(p); sum += x[i]; }` would keep
// its warp apart for the rest of the kernel: the failing side of the assertion never comes back. So a
// branch's edge into a way out is passed over as long as the function's end is still reached by another. A
// way out is
//   - a block that is nothing but `ret` or `exit`, or
//   - a straight run of blocks that ends in `trap`, or that no other branch leads into and that ends in `ret`
//   or `exit`.
// Hardware does the same: lanes that exit are taken off the barriers of convergence (CUDA programming guide,
// independent thread scheduling).
void find_post_dominators(std::vector<BasicBlock>& blocks, const std::vector<Instruction>& body);

} // namespace warpfold::ptx
