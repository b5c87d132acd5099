// What the kernels' language calls the numbers from which a thread computes its indices.
#pragma once

namespace lab {

struct IndexNames {
  const char *block, *thread, *block_size, *grid_size;
};
constexpr IndexNames index_names(bool in_opencl) {
  if (in_opencl) return {"get_group_id(0)", "get_local_id(0)", "get_local_size(0)", "get_num_groups(0)"};
  return {"blockIdx.x", "threadIdx.x", "blockDim.x", "gridDim.x"};
}

} // namespace lab
