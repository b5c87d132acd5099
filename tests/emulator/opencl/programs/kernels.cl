struct pair {
  char first;
  int second;
};

constant int table[4] = {10, 20, 30, 40};

kernel void ids(global int* out) {
  const size_t width = get_global_size(0);
  const size_t at = (get_global_id(1) - get_global_offset(1)) * width + get_global_id(0) - get_global_offset(0);
  out[at] = 1000 * get_work_dim() + 100 * get_global_id(0) + 10 * get_global_id(1) + get_local_id(0);
}

kernel void global_ids(global int* out, int first) {
  out[get_global_id(0) - first] = get_global_id(0);
}

// A global, a constant and two local arrays beside one of the kernel's own; a vector and a structure by value.
kernel void arguments(global int* out, constant int* weights, local int* a, local double4* b, int3 vector,
                      struct pair value) {
  local int own[8];
  const int i = get_local_id(0), other = get_local_size(0) - 1 - i;
  own[i] = i;
  a[i] = 10 * i;
  b[i] = (double4)(100 * i);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = own[other] + a[other] + (int)b[other].w + weights[i] + table[i % 4] + vector.z + value.first * value.second;
}

kernel void atomics(global int* out, local int* counters) {
  if (get_local_id(0) < 2) counters[get_local_id(0)] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&counters[0]);
  atomic_max(&counters[1], (int)get_local_id(0));
  atomic_add(&out[0], 2);
  atomic_min(&out[1], -(int)get_global_id(0));
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) atomic_add(&out[2], counters[0] + 1000 * counters[1]);
}

kernel __attribute__((reqd_work_group_size(4, 2, 1))) void required(global int* out) {
  out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_local_size(0) * 10 + get_local_size(1);
}

kernel void printing(global const float* in) {
  const int i = get_global_id(0);
  if (i == 2)
    printf("%d %5.2f %s %-2c %v4d %v2hlf %lu\n", i, in[i], "text", 'x', (int4)(1, -2, 3, -4), (float2)(0.5f, 1.5f), 7UL);
}
