// CUB's device-wide algorithms.
#pragma once

#include "elements.cuh"

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

struct Library {
  static constexpr bool rejected_come_backwards = true;

  // Each algorithm is first asked for its workspace size.
  template <class Algorithm>
  static void run(Algorithm algorithm) {
    std::size_t bytes = 0;
    need(algorithm(nullptr, bytes));
    Buffer<char> workspace(bytes);
    need(algorithm(workspace.data(), bytes));
    check_guard("the workspace", workspace);
  }
  template <class Algorithm>
  static int counted(Algorithm algorithm) {
    Buffer<int> count(1);
    run([&](void* memory, std::size_t& bytes) { return algorithm(memory, bytes, count.data()); });
    return count.values(1)[0];
  }

  template <class T>
  static void inclusive_scan(const T* in, T* out, int n) {
    run([&](void* m, std::size_t& b) { return cub::DeviceScan::InclusiveScan(m, b, in, out, Plus(), n); });
  }
  template <class T>
  static void exclusive_scan(const T* in, T* out, int n) {
    run([&](void* m, std::size_t& b) {
      return cub::DeviceScan::ExclusiveScan(m, b, in, out, Plus(), element<T>(0), n);
    });
  }
  template <class K, class V>
  static void scan_by_key(const K* keys, const V* in, V* out, int n) {
    run([&](void* m, std::size_t& b) {
      return cub::DeviceScan::InclusiveScanByKey(m, b, keys, in, out, Plus(), n);
    });
  }
  template <class K, class V>
  static int reduce_by_key(const K* keys, const V* in, K* heads, V* out, int n) {
    return counted([&](void* m, std::size_t& b, int* count) {
      return cub::DeviceReduce::ReduceByKey(m, b, keys, heads, in, out, count, Plus(), n);
    });
  }
  template <class T>
  static int unique(const T* in, T* out, int n) {
    return counted([&](void* m, std::size_t& b, int* count) {
      return cub::DeviceSelect::Unique(m, b, in, out, count, n);
    });
  }
  template <class T>
  static int copy_if(const T* in, T* out, int n) {
    return counted([&](void* m, std::size_t& b, int* count) {
      return cub::DeviceSelect::If(m, b, in, out, count, n, IsOdd());
    });
  }
  template <class T>
  static int partition(const T* in, T* out, int n) {
    return counted([&](void* m, std::size_t& b, int* count) {
      return cub::DevicePartition::If(m, b, in, out, count, n, IsOdd());
    });
  }
  template <class K, class V>
  static void stable_sort(Buffer<K>& keys, Buffer<V>& values, int n) {
    if constexpr (sizeof(K) <= 8) {
      Buffer<K> other_keys(n);
      Buffer<V> other_values(n);
      cub::DoubleBuffer<K> k(keys.data(), other_keys.data());
      cub::DoubleBuffer<V> v(values.data(), other_values.data());
      run([&](void* m, std::size_t& b) { return cub::DeviceRadixSort::SortPairs(m, b, k, v, n); });
      if (k.Current() != keys.data())
        need(cudaMemcpy(keys.data(), k.Current(), n * sizeof(K), cudaMemcpyDeviceToDevice));
      if (v.Current() != values.data())
        need(cudaMemcpy(values.data(), v.Current(), n * sizeof(V), cudaMemcpyDeviceToDevice));
      check_guard("the second keys", other_keys);
      check_guard("the second values", other_values);
    } else {
      run([&](void* m, std::size_t& b) {
        return cub::DeviceMergeSort::StableSortPairs(m, b, keys.data(), values.data(), n,
                                                     [] __device__(const K& x, const K& y) { return x < y; });
      });
    }
  }
  template <class T>
  static void histogram(const T* in, int* out, int bins, int n) {
    run([&](void* m, std::size_t& b) {
      return cub::DeviceHistogram::HistogramEven(m, b, in, out, bins + 1, T(0), T(bins), n);
    });
  }
  template <class T>
  static int run_length_encode(const T* in, T* heads, int* lengths, int n) {
    return counted([&](void* m, std::size_t& b, int* count) {
      return cub::DeviceRunLengthEncode::Encode(m, b, in, heads, lengths, count, n);
    });
  }
};
