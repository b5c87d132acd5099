// What printf in a kernel makes of its conversions. The expected output is an H200's.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void prints() {
  printf("|%c|%4c|%-4c|%%|\n", 'a', 'b', 'c');
  printf("|%s|%4s|%-4s|%.2s|\n", "aa", "bb", "cc", "dddd");
  printf("|%d|%4d|%-4d|%04d|%+d|% d|%.3d|\n", -1, 2, 3, 4, 5, 6, 7);
  printf("|%u|%x|%X|%#x|%o|\n", 4000000000U, 255, 255, 255, 8);
  printf("|%hd|%ld|%lld|%llu|\n", (short)-2, -3L, -4LL, ~0ULL);
  printf("|%f|%8.3f|%-8.1f|%e|%G|%a|\n", 1.5, 2.25, 3.5, 12345.678, 1e-10, 0.5);
  printf("|%*d|%-*d|\n", 5, 1, 5, 2);
  printf("|%d|\n", printf("%d %s\n", 7, "two arguments"));
  printf("no arguments\n");
}

int main() {
  prints<<<1, 1>>>();
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
