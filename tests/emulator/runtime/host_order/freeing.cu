// Memory that is freed once, twice, or from inside.
#include "cases.hpp"

constexpr std::size_t bytes = 4000;

CASE(freed_once, "clean") {
  int* a;
  OK(cudaMalloc(&a, bytes));
  OK(cudaFree(a));
  OK(cudaFree(nullptr));
}
CASE(freed_twice, "bad-free: cudaFree frees allocation 1 .*, which has already been freed") {
  int* a;
  OK(cudaMalloc(&a, bytes));
  OK(cudaFree(a));                // there
  static_cast<void>(cudaFree(a)); // here
}
CASE(freed_inside, "bad-free: cudaFree is called with byte 16 of allocation 1 .*, not with its first byte") {
  int* a;
  OK(cudaMalloc(&a, bytes));          // there
  static_cast<void>(cudaFree(a + 4)); // here
  OK(cudaFree(a));
}
CASE(pinned_freed_twice,
     "bad-free: cudaFreeHost frees pinned allocation 1 .*, which has already been freed") {
  int* a;
  OK(cudaMallocHost(&a, bytes));
  OK(cudaFreeHost(a));                // there
  static_cast<void>(cudaFreeHost(a)); // here
}
CASE(freed_twice_in_order, "bad-free: cudaFreeAsync frees allocation 1 .*, which has already been freed") {
  int* a;
  OK(cudaMallocAsync(&a, bytes, nullptr));
  OK(cudaFreeAsync(a, nullptr));                // there
  static_cast<void>(cudaFreeAsync(a, nullptr)); // here
  static_cast<void>(cudaDeviceSynchronize());   // which has its error
}

int main(int argc, char** argv) {
  return run_case(argc, argv);
}
