// Lab 10: the same ladder in OpenCL C, the kernels.
//
// get_local_id(0) is a work-item's number in its work-group, get_local_size(0) the number of items per group,
// get_group_id(0) the group's number, get_global_id(0) the item's number in the whole launch and
// get_global_size(0) the number of items in it. barrier(CLK_GLOBAL_MEM_FENCE) makes the items of one work-group
// wait for each other and see what they wrote to global memory; CLK_LOCAL_MEM_FENCE is for local memory.

// The first three kernels run in one work-group, and n is at most twice its size. Here the stride doubles: item i
// owns element 2 * i, and the items whose element is a multiple of 2 * stride work.
kernel void modulo_in_place(global float* data, global float* result, ulong n) {
  const ulong at = 2 * get_local_id(0);
  for (ulong stride = 1; stride < n; stride *= 2) {
    // BEGIN modulo_in_place
    // TODO: If this item's element `at` is a multiple of 2 * stride and has a partner `stride` further on, below
    // n, add the partner to it. Then wait for the group. (2 lines)
    // END modulo_in_place
  }
  if (at == 0) *result = n > 0 ? data[0] : 0;
}

// The same additions by other items: the first ones, without gaps, so that whole groups of neighbours work and
// the others are idle.
kernel void dense_items(global float* data, global float* result, ulong n) {
  const ulong item = get_local_id(0);
  for (ulong stride = 1; stride < n; stride *= 2) {
    // BEGIN dense_items
    // TODO: Item i works on element 2 * stride * i. If that has a partner `stride` further on, below n, add the
    // partner to it. Then wait for the group. (3 lines)
    // END dense_items
  }
  if (item == 0) *result = n > 0 ? data[0] : 0;
}

// The stride halves instead: the items that work are neighbours, and so are the elements that they add.
kernel void halving_items(global float* data, global float* result, ulong n) {
  const ulong item = get_local_id(0);
  for (ulong stride = get_local_size(0); stride > 0; stride /= 2) {
    // BEGIN halving_items
    // TODO: Let the items below `stride` add the element `stride` further on, if there is one below n, to their
    // own. Then wait for the group. (2 lines)
    // END halving_items
  }
  if (item == 0) *result = n > 0 ? data[0] : 0;
}

// This is wrong on purpose: halving_items with all items of the launch instead of those of one group. The barrier
// does not wait for the other groups, so a group may read what another has not added up yet. You write it to
// see that happen; only another launch can make it right.
kernel void across_groups(global float* data, global float* result, ulong n) {
  const ulong item = get_global_id(0);
  ulong stride = 1;
  while (2 * stride < n) stride *= 2;
  for (; stride > 0; stride /= 2) {
    // BEGIN across_groups
    // TODO: Write the same two lines as in halving_items. (2 lines)
    // END across_groups
  }
  if (item == 0) *result = n > 0 ? data[0] : 0;
}

// One sum per work-group, for up to 2^31 elements: each item walks over the input, then the group adds up in local
// memory, where `partial` holds one element per item. This kernel is launched twice, see opencl.cpp.
kernel void group_sums(global const float* input, global float* sums, ulong n, local float* partial) {
  const ulong item = get_local_id(0);
  float sum = 0;
  // BEGIN two_stage
  // TODO: Let this item walk over the input, from its number in the launch, in steps of the number of items
  // in the launch, and add up the elements in `sum`. (1 line)
  // END two_stage
  partial[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  // BEGIN two_stage
  // TODO: Halve the stride from half the group's size to 1: the items below it add the element of `partial` one
  // stride further on. Wait after each step with CLK_LOCAL_MEM_FENCE, since `partial` is local memory. (4 lines)
  // END two_stage
  if (item == 0) sums[get_group_id(0)] = partial[0];
}
