// Lab 10: the same ladder in OpenCL, the host's side. The kernels, and everything that you write, are in
// opencl.cl beside this file.
//
// OpenCL says work-item for a thread, work-group for a block, and local memory for shared memory. A kernel is
// text that the driver compiles when the program runs, so the same program can use any vendor's GPU, or a
// CPU.
#include "opencl.hpp"

using lab::opencl::Local;
using lab::opencl::Run;

// One work-group, up to two elements per item, in place in global memory.
void modulo_in_place(Run& run) {
  run.launch("modulo_in_place", 1, {run.input, run.result, run.n});
}

void dense_items(Run& run) {
  run.launch("dense_items", 1, {run.input, run.result, run.n});
}

void halving_items(Run& run) {
  run.launch("halving_items", 1, {run.input, run.result, run.n});
}

// Like halving_items, but with as many work-groups as n needs.
void across_groups(Run& run) {
  const std::size_t groups = lab::ceil_div(run.n, 2 * run.group);
  run.launch("across_groups", groups > 0 ? groups : 1, {run.input, run.result, run.n});
}

// The first launch leaves one sum per work-group; the second, with one work-group, adds those up. The second
// launch sees everything that the first has written: it is the barrier across groups.
void two_stage(Run& run) {
  constexpr std::size_t most_groups = 64;
  std::size_t groups = lab::ceil_div(run.n, 2 * run.group);
  if (groups > most_groups) groups = most_groups;
  if (groups == 0) groups = 1;
  const cl_mem sums = run.scratch(groups);
  run.launch("group_sums", groups, {run.input, sums, run.n, Local{run.group}});
  run.launch("group_sums", 1, {sums, run.result, groups, Local{run.group}});
}

int main(int argc, char** argv) {
  return lab::opencl::main(argc, argv,
                           {
                               {"modulo_in_place", modulo_in_place},
                               {"dense_items", dense_items},
                               {"halving_items", halving_items},
                               {"across_groups", across_groups},
                               {"two_stage", two_stage},
                           });
}
