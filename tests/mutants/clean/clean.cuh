// What the clean programs share: inputs, and a check that the results are right.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

inline std::vector<int> some_numbers(int n) {
  std::vector<int> numbers(n);
  for (int i = 0; i < n; ++i) numbers[i] = (i * 7919 + 13) % 1009 - 300;
  return numbers;
}

inline void expect_success(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(error));
  std::exit(1);
}

template <class T>
void expect_equal(const char* what, T got, T expected) {
  if (got == expected) return;
  std::printf("%s: wrong result\n", what);
  std::exit(1);
}
