// The algorithms of CUB and Thrust that pass data between blocks, each compared with a plain loop on the
// host.
//
// `Library` has a function for each algorithm; those without keys use only `Value`.
#pragma once

#include "elements.cuh"

#include <algorithm>
#include <numeric>

template <class T>
struct Runs { // of equal elements
  std::vector<T> heads;
  std::vector<int> lengths;
};
template <class T>
Runs<T> runs_of(const std::vector<T>& values) {
  Runs<T> runs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == 0 || values[i] != values[i - 1]) runs.heads.push_back(values[i]), runs.lengths.push_back(0);
    ++runs.lengths.back();
  }
  return runs;
}

template <class Library, class Key, class Value>
void try_scan(std::mt19937_64& random, int n) {
  const auto in = random_elements<Value>(random, n);
  std::vector<Value> inclusive(n), exclusive(n);
  Value sum = element<Value>(0);
  for (int i = 0; i < n; ++i) exclusive[i] = sum, sum = Plus()(sum, in[i]), inclusive[i] = sum;
  Buffer<Value> input(in), first(n), second(n);
  Library::inclusive_scan(input.data(), first.data(), n);
  Library::exclusive_scan(input.data(), second.data(), n);
  check("inclusive scan", first, inclusive);
  check("exclusive scan", second, exclusive);
}

template <class Library, class Key, class Value>
void try_scan_by_key(std::mt19937_64& random, int n) {
  const auto keys = random_elements<Key>(random, n, 250);
  const auto in = random_elements<Value>(random, n);
  std::vector<Value> expected(n);
  for (int i = 0; i < n; ++i)
    expected[i] = i && keys[i] == keys[i - 1] ? Plus()(expected[i - 1], in[i]) : in[i];
  Buffer<Key> key_input(keys);
  Buffer<Value> input(in), output(n);
  Library::scan_by_key(key_input.data(), input.data(), output.data(), n);
  check("scan by key", output, expected);
}

template <class Library, class Key, class Value>
void try_reduce_by_key(std::mt19937_64& random, int n) {
  const auto keys = random_elements<Key>(random, n, 240);
  const auto in = random_elements<Value>(random, n);
  const auto runs = runs_of(keys);
  std::vector<Value> sums;
  for (int i = 0; i < n; ++i) {
    if (i && keys[i] == keys[i - 1])
      sums.back() = Plus()(sums.back(), in[i]);
    else
      sums.push_back(in[i]);
  }
  Buffer<Key> key_input(keys), heads(runs.heads.size());
  Buffer<Value> input(in), output(runs.heads.size());
  const int count = Library::reduce_by_key(key_input.data(), input.data(), heads.data(), output.data(), n);
  compare("number of runs", std::vector<int>{count}, {static_cast<int>(runs.heads.size())});
  check("keys of the runs", heads, runs.heads);
  check("sums of the runs", output, sums);
}

template <class Library, class Key, class Value>
void try_unique(std::mt19937_64& random, int n) {
  const auto in = random_elements<Value>(random, n, 200);
  const auto expected = runs_of(in).heads;
  Buffer<Value> input(in), output(expected.size());
  const int count = Library::unique(input.data(), output.data(), n);
  compare("number of elements", std::vector<int>{count}, {static_cast<int>(expected.size())});
  check("unique elements", output, expected);
}

template <class Library, class Key, class Value>
void try_copy_if(std::mt19937_64& random, int n) {
  const auto in = random_elements<Value>(random, n);
  std::vector<Value> expected;
  std::copy_if(in.begin(), in.end(), std::back_inserter(expected), IsOdd());
  Buffer<Value> input(in), output(expected.size());
  const int count = Library::copy_if(input.data(), output.data(), n);
  compare("number of elements", std::vector<int>{count}, {static_cast<int>(expected.size())});
  check("copied elements", output, expected);
}

// First the selected ones, in their order; then the others, in theirs.
template <class Library, class Key, class Value>
void try_partition(std::mt19937_64& random, int n) {
  const auto in = random_elements<Value>(random, n);
  std::vector<Value> expected = in;
  const auto middle = std::stable_partition(expected.begin(), expected.end(), IsOdd());
  Buffer<Value> input(in), output(n);
  const int count = Library::partition(input.data(), output.data(), n);
  compare("number of elements", std::vector<int>{count}, {static_cast<int>(middle - expected.begin())});
  std::vector<Value> got = output.values(n);
  if (Library::rejected_come_backwards) std::reverse(got.begin() + (middle - expected.begin()), got.end());
  compare("partition", got, expected);
  check_guard("partition", output);
}

template <class Library, class Key, class Value>
void try_sort(std::mt19937_64& random, int n) {
  const auto keys = random_elements<Key>(random, n, 64);
  std::vector<Value> numbers(n);
  for (int i = 0; i < n; ++i) numbers[i] = element<Value>(i);
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  std::vector<Key> sorted(n);
  std::vector<Value> moved(n);
  for (int i = 0; i < n; ++i) sorted[i] = keys[order[i]], moved[i] = numbers[order[i]];
  Buffer<Key> key_buffer(keys);
  Buffer<Value> values(numbers);
  Library::stable_sort(key_buffer, values, n);
  check("sorted keys", key_buffer, sorted);
  check("values of sorted keys", values, moved);
}

template <class Library, class Key, class Value>
void try_histogram(std::mt19937_64& random, int n) {
  constexpr int bins = 100;
  std::vector<Value> in(n);
  std::vector<int> expected(bins);
  for (Value& value : in) {
    const auto number = static_cast<int>(random() % bins);
    value = element<Value>(number);
    ++expected[number];
  }
  Buffer<Value> input(in);
  Buffer<int> output(bins);
  Library::histogram(input.data(), output.data(), bins, n);
  check("histogram", output, expected);
}

template <class Library, class Key, class Value>
void try_run_length_encode(std::mt19937_64& random, int n) {
  const auto in = random_elements<Value>(random, n, 220);
  const auto expected = runs_of(in);
  Buffer<Value> input(in), heads(expected.heads.size());
  Buffer<int> lengths(expected.heads.size());
  const int count = Library::run_length_encode(input.data(), heads.data(), lengths.data(), n);
  compare("number of runs", std::vector<int>{count}, {static_cast<int>(expected.heads.size())});
  check("elements of the runs", heads, expected.heads);
  check("lengths of the runs", lengths, expected.lengths);
}

// PROGRAM ROUNDS SEED LARGEST_N: random sizes up to the largest.
template <class Try>
int run_rounds(const char* name, int argc, char** argv, Try one) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 4;
  const auto seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  const int largest = argc > 3 ? std::atoi(argv[3]) : 60000;
  std::mt19937_64 random(seed);
  for (int round = 0; round < rounds; ++round) {
    const int n = 1 + static_cast<int>(random() % static_cast<unsigned>(largest));
    current = std::string(name) + ", n = " + std::to_string(n) + ", seed " + std::to_string(seed);
    one(random, n);
  }
  need(cudaDeviceSynchronize());
  std::printf("%s: %s\n", name, failures ? "wrong" : "right");
  return failures ? 1 : 0;
}
