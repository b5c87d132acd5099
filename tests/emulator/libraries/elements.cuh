// Elements of every width for the libraries' algorithms, and what surrounds each run: random input, guarded
// output, comparison with the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <cuda_runtime.h>

// Integers of 1, 2, 4 and 8 bytes are used as they are; wider elements consist of words that all matter.
template <class Word, int Words>
struct Wide {
  Word word[Words];
  __host__ __device__ friend bool operator==(const Wide& a, const Wide& b) {
    bool same = true;
    for (int i = 0; i < Words; ++i) same = same && a.word[i] == b.word[i];
    return same;
  }
  __host__ __device__ friend bool operator!=(const Wide& a, const Wide& b) { return !(a == b); }
  __host__ __device__ friend bool operator<(const Wide& a, const Wide& b) {
    for (int i = 0; i < Words; ++i)
      if (a.word[i] != b.word[i]) return a.word[i] < b.word[i];
    return false;
  }
  __host__ __device__ friend Wide operator+(const Wide& a, const Wide& b) {
    Wide sum;
    for (int i = 0; i < Words; ++i) sum.word[i] = a.word[i] + b.word[i];
    return sum;
  }
};
using Bytes12 = Wide<std::uint32_t, 3>;
struct alignas(16) Bytes16 : Wide<std::uint64_t, 2> {
  __host__ __device__ friend Bytes16 operator+(const Bytes16& a, const Bytes16& b) {
    Bytes16 sum;
    for (int i = 0; i < 2; ++i) sum.word[i] = a.word[i] + b.word[i];
    return sum;
  }
};

// An element whose every word depends on the whole number.
template <class T>
__host__ __device__ T element(std::uint64_t number) {
  if constexpr (sizeof(T) <= 8) {
    return static_cast<T>(number);
  } else {
    T wide;
    constexpr int words = sizeof(T) / sizeof(wide.word[0]);
    for (int i = 0; i < words; ++i)
      wide.word[i] = static_cast<decltype(wide.word[0] + 0)>(i + 1 == words ? number : number / 7);
    return wide;
  }
}
// The number that identifies an element.
template <class T>
__host__ __device__ std::uint64_t number_of(const T& value) {
  if constexpr (sizeof(T) <= 8)
    return static_cast<std::uint64_t>(value);
  else
    return value.word[sizeof(T) / sizeof(value.word[0]) - 1];
}

struct Plus {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return static_cast<T>(a + b);
  }
};
struct IsOdd {
  template <class T>
  __host__ __device__ bool operator()(const T& value) const {
    return number_of(value) % 2 != 0;
  }
};

inline int failures = 0;
inline std::string current; // what is currently running

inline void need(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("wrong: %s: CUDA error: %s\n", current.c_str(), cudaGetErrorString(error));
  std::exit(1);
}

// Device memory with guards after its end, which a write beyond the end changes.
template <class T>
class Buffer {
public:
  explicit Buffer(std::size_t count) : count_(count) {
    fill(std::vector<T>(count, element<T>(0x5a5a5a5a5a5a5a5a)));
  }
  explicit Buffer(const std::vector<T>& values) : count_(values.size()) { fill(values); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }
  T* data() { return data_; }
  std::vector<T> values(std::size_t count) const {
    std::vector<T> out(count);
    if (count) need(cudaMemcpy(out.data(), data_, count * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }
  bool is_intact_behind_end() const {
    std::vector<unsigned char> guard(guard_bytes);
    need(cudaMemcpy(guard.data(), reinterpret_cast<const char*>(data_ + count_), guard_bytes,
                    cudaMemcpyDeviceToHost));
    for (unsigned char byte : guard)
      if (byte != guard_byte) return false;
    return true;
  }

private:
  static constexpr std::size_t guard_bytes = 512;
  static constexpr unsigned char guard_byte = 0xc3;
  void fill(const std::vector<T>& values) {
    need(cudaMalloc(&data_, count_ * sizeof(T) + guard_bytes));
    if (count_) need(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
    need(cudaMemset(reinterpret_cast<char*>(data_ + count_), guard_byte, guard_bytes));
  }
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

template <class T>
void compare(const char* what, const std::vector<T>& got, const std::vector<T>& expected) {
  if (got == expected) return;
  ++failures;
  std::size_t at = 0;
  while (at < got.size() && at < expected.size() && got[at] == expected[at]) ++at;
  std::printf("wrong: %s: %s: %zu elements, %zu expected; first difference at %zu\n", current.c_str(), what,
              got.size(), expected.size(), at);
}
template <class T>
void check_guard(const char* what, const Buffer<T>& buffer) {
  if (buffer.is_intact_behind_end()) return;
  ++failures;
  std::printf("wrong: %s: writes past the end of %s\n", current.c_str(), what);
}
template <class T>
void check(const char* what, const Buffer<T>& buffer, const std::vector<T>& expected) {
  compare(what, buffer.values(expected.size()), expected);
  check_guard(what, buffer);
}

// Random elements; `alike`: how many of 256 repeat the one before, so that there are runs.
template <class T>
std::vector<T> random_elements(std::mt19937_64& random, std::size_t n, unsigned alike = 0) {
  std::vector<T> out(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = i > 0 && random() % 256 < alike ? out[i - 1] : element<T>(random() >> random() % 48);
  return out;
}
