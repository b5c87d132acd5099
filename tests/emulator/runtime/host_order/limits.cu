// More accesses than the check keeps.
#include "cases.hpp"

__global__ void every_second(int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[2 * i] = i;
}
static int* scattered(int count) {
  int* out;
  OK(cudaMallocHost(&out, 2 * count * sizeof(int)));
  every_second<<<count / 256, 256>>>(out, count); // here
  return out;
}
CASE(scattered_and_waited_for, "clean") {
  const int* out = scattered(1 << 16);
  OK(cudaDeviceSynchronize());
  sink = out[(2 << 16) - 3];
}
CASE(scattered_over_more_than_is_kept,
     "not-checked: races between the host and earlier work are not checked from here on") {
  sink = scattered(1 << 16)[(2 << 16) - 3];
}
static void read_all(int count, bool waits) {
  const int* out = scattered(count);
  if (waits) OK(cudaDeviceSynchronize());
  for (int i = 0; i < count; ++i) sink = out[2 * i]; // here
}
CASE(many_reads, "race-host: the host reads byte 0 of pinned") {
  read_all(1024 - 256, false);
}
CASE(more_reads_than_are_kept,
     "race-host|not-checked: races between the host and earlier work are not checked from here on") {
  read_all(1280, false);
}
CASE(many_reads_after_a_wait, "clean") {
  read_all(1280, true);
}

int main(int argc, char** argv) {
  return run_case(argc, argv);
}
