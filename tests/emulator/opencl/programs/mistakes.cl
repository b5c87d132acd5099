kernel void reverse(global int* out, local int* scratch) {
  const int i = get_local_id(0);
  scratch[i] = i;
  out[i] = scratch[get_local_size(0) - 1 - i];
}

kernel void to_read_only(global int* out, local int* scratch) {
  out[get_local_id(0)] = 1;
}

kernel void from_write_only(global int* out, local int* scratch) {
  const int i = get_local_id(0);
  scratch[i] = out[i];
  out[i] = scratch[i];
}

kernel void beyond(global int* out, local int* scratch) {
  out[get_local_id(0) + 1] = 1;
}
