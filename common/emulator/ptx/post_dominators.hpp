// Where lanes that diverge at a branch reconverge: the post-dominators behind `basic_blocks`.
#pragma once

#include "ptx/control_flow.hpp"

#include <vector>

namespace warpfold::ptx {

// Fills in `post_dominator` of blocks whose `successors` are known.
//
// No lane waits for one that leaves the function. Otherwise `if (i < n) { assert(p); sum += x[i]; }` would
// keep its warp divergent for the rest of the kernel, because the failing side of the assertion never comes
// back. So a branch's edge into an exit path is ignored as long as another edge still reaches the function's
// end. An exit path is
//   - a block that is nothing but `ret` or `exit`, or
//   - a straight run of blocks that ends in `trap`, or one that ends in `ret` or `exit` and that no other
//   branch leads into.
// The hardware does the same: lanes that exit are removed from the convergence barriers (CUDA programming
// guide, independent thread scheduling).
void find_post_dominators(std::vector<BasicBlock>& blocks, const std::vector<Instruction>& body);

} // namespace warpfold::ptx
