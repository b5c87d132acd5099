// Thrust's algorithms. It has no histogram and no run-length encoding; its examples build them from others.
#pragma once

#include "elements.cuh"

#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

struct Library {
  static constexpr bool rejected_come_backwards = false;

  template <class T>
  static void inclusive_scan(const T* in, T* out, int n) {
    thrust::inclusive_scan(thrust::device, in, in + n, out, Plus());
  }
  template <class T>
  static void exclusive_scan(const T* in, T* out, int n) {
    thrust::exclusive_scan(thrust::device, in, in + n, out, element<T>(0), Plus());
  }
  template <class K, class V>
  static void scan_by_key(const K* keys, const V* in, V* out, int n) {
    thrust::inclusive_scan_by_key(thrust::device, keys, keys + n, in, out, Equal(), Plus());
  }
  template <class K, class V>
  static int reduce_by_key(const K* keys, const V* in, K* heads, V* out, int n) {
    const auto ends = thrust::reduce_by_key(thrust::device, keys, keys + n, in, heads, out, Equal(), Plus());
    return static_cast<int>(ends.first - heads);
  }
  template <class T>
  static int unique(const T* in, T* out, int n) {
    return static_cast<int>(thrust::unique_copy(thrust::device, in, in + n, out, Equal()) - out);
  }
  template <class T>
  static int copy_if(const T* in, T* out, int n) {
    return static_cast<int>(thrust::copy_if(thrust::device, in, in + n, out, IsOdd()) - out);
  }
  template <class T>
  static int partition(const T* in, T* out, int n) {
    thrust::copy(thrust::device, in, in + n, out);
    return static_cast<int>(thrust::stable_partition(thrust::device, out, out + n, IsOdd()) - out);
  }
  template <class K, class V>
  static void stable_sort(Buffer<K>& keys, Buffer<V>& values, int n) {
    thrust::stable_sort_by_key(thrust::device, keys.data(), keys.data() + n, values.data(), Less());
  }
  // Sorts, then counts how many elements come before the end of each bin (Thrust's example histogram.cu).
  template <class T>
  static void histogram(const T* in, int* out, int bins, int n) {
    Buffer<T> sorted(n);
    thrust::copy(thrust::device, in, in + n, sorted.data());
    thrust::sort(thrust::device, sorted.data(), sorted.data() + n, Less());
    thrust::counting_iterator<int> bin(0);
    thrust::upper_bound(thrust::device, sorted.data(), sorted.data() + n, bin, bin + bins, out,
                        LessThanBin());
    thrust::adjacent_difference(thrust::device, out, out + bins, out);
  }
  template <class T>
  static int run_length_encode(const T* in, T* heads, int* lengths, int n) {
    const auto ends = thrust::reduce_by_key(thrust::device, in, in + n, thrust::constant_iterator<int>(1),
                                            heads, lengths, Equal(), Plus());
    return static_cast<int>(ends.first - heads);
  }

  // nvcc refers to these outside of the class, so they cannot be private.
  struct Equal {
    template <class T>
    __host__ __device__ bool operator()(const T& a, const T& b) const {
      return a == b;
    }
  };
  struct Less {
    template <class T>
    __host__ __device__ bool operator()(const T& a, const T& b) const {
      return a < b;
    }
  };
  struct LessThanBin {
    template <class T>
    __host__ __device__ bool operator()(int bin, const T& value) const {
      return static_cast<std::uint64_t>(bin) < number_of(value);
    }
  };
};
