// Checks the champion of lab 09 beyond what the lab's own check does: every type, operator and alignment,
// sizes around each change of its grid and past 2^32 elements, and the same bits on every run. Needs a GPU;
// exits with 77 (skipped) where there is none.
//
// The solution's templates are compiled here once more, for other operators than the lab's.
#include "solved_speed_of_light.cuh" // made by Meson: lab 09 solved, without its main()

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "run/device.hpp"

namespace {

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
#define REQUIRE(call) require(call, #call)

struct Minimum {
  template <class T>
  static __device__ T identity() {
    return std::is_floating_point_v<T> ? static_cast<T>(1e30) : static_cast<T>(0x7fffffff);
  }
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class T>
  static __device__ T identity() {
    return std::is_floating_point_v<T> ? static_cast<T>(-1e30) : static_cast<T>(-0x7fffffff - 1);
  }
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

// Element i: an integer from -3 to 3, by a hash of its index, so that sums of billions of them stay small
// enough to be exact in float in whatever order, and each element counts.
__host__ __device__ int element(std::size_t i) {
  unsigned long long h = (i + 1) * 0x9e3779b97f4a7c15ull;
  h ^= h >> 29;
  return static_cast<int>(h * 0xbf58476d1ce4e5b9ull >> 40) % 7 - 3;
}

template <class T>
__global__ void fill(T* data, std::size_t n, bool fractions) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    data[i] =
        fractions ? static_cast<T>(element(i) * 0.37 + 1.0 / (i % 1013 + 1)) : static_cast<T>(element(i));
  }
}

struct Reference {
  long long sum = 0;
  int least = 4, greatest = -4;
};

// What the first n elements from `offset` on come to, in integers on the device; no part of the champion's.
__global__ void reference_kernel(std::size_t offset, std::size_t n, Reference* reference) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  long long sum = 0;
  int least = 4, greatest = -4;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    const int value = element(offset + i);
    sum += value, least = min(least, value), greatest = max(greatest, value);
  }
  atomicAdd(reinterpret_cast<unsigned long long*>(&reference->sum), static_cast<unsigned long long>(sum));
  atomicMin(&reference->least, least);
  atomicMax(&reference->greatest, greatest);
}

Reference reference_for(std::size_t offset, std::size_t n) {
  Reference result, *device = nullptr;
  REQUIRE(cudaMalloc(&device, sizeof(Reference)));
  REQUIRE(cudaMemcpy(device, &result, sizeof result, cudaMemcpyHostToDevice));
  reference_kernel<<<1024, 256>>>(offset, n, device);
  REQUIRE(cudaMemcpy(&result, device, sizeof result, cudaMemcpyDeviceToHost));
  REQUIRE(cudaFree(device));
  if (n <= 4096) { // the reference is itself held to a loop on the CPU
    long long sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += element(offset + i);
    if (sum != result.sum) require(cudaErrorUnknown, "the reference kernel is wrong");
  }
  return result;
}

int failures = 0;

template <class T, class Operator>
void check(const char* what, const T* data, std::size_t offset, std::size_t n, Operator combine, T expected) {
  static T* result = nullptr;
  if (result == nullptr) REQUIRE(cudaMalloc(&result, sizeof(T)));
  for (int run = 0; run < 2; ++run) { // the second run meets what the first has left
    REQUIRE(cudaMemset(result, 0xa5, sizeof(T)));
    reduce(data + offset, result, n, combine);
    T got;
    REQUIRE(cudaMemcpy(&got, result, sizeof(T), cudaMemcpyDeviceToHost));
    if (got == expected) continue;
    std::printf("not ok: %s, n = %zu, %zu elements off, run %d: %.17g expected, got %.17g\n", what, n, offset,
                run, static_cast<double>(expected), static_cast<double>(got));
    ++failures;
  }
}

template <class T>
void check_type(const char* name, std::size_t most) {
  T* data = nullptr;
  REQUIRE(cudaMalloc(&data, (most + 4) * sizeof(T)));
  fill<<<4096, 256>>>(data, most + 4, false);
  const std::size_t change = (std::size_t{16} << 20) / sizeof(T); // of the grid
  std::vector<std::size_t> sizes{0,      1,          2,          3,       4,       5,        31,
                                 32,     33,         255,        256,     257,     1000,     8191,
                                 8192,   8193,       16385,      100003,  999983,  1 << 20,  change - 1,
                                 change, change + 1, change + 7, 8650751, 8650757, 50000017, (1u << 29) + 5};
  if (most > std::size_t{1} << 32) sizes.push_back((std::size_t{1} << 32) + 12345);
  for (const std::size_t n : sizes) {
    if (n > most) continue;
    for (std::size_t offset = 0; offset < 16 / sizeof(T); ++offset) {
      const Reference wanted = reference_for(offset, n);
      check(name, data, offset, n, Add(), static_cast<T>(wanted.sum));
      if (n == 0) continue;
      check(name, data, offset, n, Minimum(), static_cast<T>(wanted.least));
      check(name, data, offset, n, Maximum(), static_cast<T>(wanted.greatest));
    }
  }
  REQUIRE(cudaFree(data));
}

// Values that round: the order decides the last bits, so these differ as soon as the order does.
template <class T>
void check_bits(const char* name) {
  const std::size_t most = std::size_t{1} << 28;
  T *data = nullptr, *result = nullptr;
  REQUIRE(cudaMalloc(&data, most * sizeof(T)));
  REQUIRE(cudaMalloc(&result, sizeof(T)));
  fill<<<4096, 256>>>(data, most, true);
  for (const std::size_t n : {std::size_t{100003}, std::size_t{1} << 22, std::size_t{8650757}, most - 1}) {
    T first{};
    for (int run = 0; run < 50; ++run) {
      T got;
      reduce(data + 1, result, n - 1, Add());
      REQUIRE(cudaMemcpy(&got, result, sizeof(T), cudaMemcpyDeviceToHost));
      if (run == 0) first = got;
      if (std::memcmp(&first, &got, sizeof(T)) == 0) continue;
      std::printf("not ok: %s, n = %zu: run %d has other bits than run 0\n", name, n - 1, run);
      ++failures;
      break;
    }
  }
  REQUIRE(cudaFree(data));
  REQUIRE(cudaFree(result));
}

// Launches in several streams at once, each stream with its own workspace.
void check_streams() {
  constexpr std::size_t n = 3000001, rounds = 100;
  int *data = nullptr, *results = nullptr;
  REQUIRE(cudaMalloc(&data, n * sizeof(int)));
  REQUIRE(cudaMalloc(&results, rounds * most_streams * sizeof(int)));
  REQUIRE(cudaMemset(results, 0xa5, rounds * most_streams * sizeof(int)));
  fill<<<4096, 256>>>(data, n, false);
  REQUIRE(cudaDeviceSynchronize());
  cudaStream_t streams[most_streams];
  for (cudaStream_t& stream : streams) REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (std::size_t round = 0; round < rounds; ++round) {
    for (unsigned s = 0; s < most_streams; ++s)
      reduce(data + s, results + round * most_streams + s, n - 100000 * s - s, Add(), s, streams[s]);
  }
  REQUIRE(cudaDeviceSynchronize());
  std::vector<int> got(rounds * most_streams);
  REQUIRE(cudaMemcpy(got.data(), results, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  for (unsigned s = 0; s < most_streams; ++s) {
    const auto wanted = static_cast<int>(reference_for(s, n - 100000 * s - s).sum);
    for (std::size_t round = 0; round < rounds; ++round) {
      if (got[round * most_streams + s] == wanted) continue;
      std::printf("not ok: stream %u, launch %zu: %d expected, got %d\n", s, round, wanted,
                  got[round * most_streams + s]);
      ++failures;
      break;
    }
    REQUIRE(cudaStreamDestroy(streams[s]));
  }
  REQUIRE(cudaFree(data));
  REQUIRE(cudaFree(results));
}

} // namespace

int main(int, char** argv) {
  try {
    lab::open_device(lab::Choice::gpu, argv);
  } catch (const lab::NoDevice& none) {
    std::printf("1..0 # SKIP %s\n", none.what());
    return 77;
  }
  std::size_t free_bytes = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free_bytes, &total));
  const std::size_t large =
      free_bytes > std::size_t{20} << 30 ? (std::size_t{1} << 32) + 12345 : std::size_t{1} << 26;
  check_type<float>("float", large);
  check_type<int>("int", std::size_t{1} << 26);
  check_type<double>("double", std::size_t{1} << 27);
  check_bits<float>("float");
  check_bits<double>("double");
  check_streams();
  if (failures == 0) std::printf("ok: every type, operator, size and alignment; several streams at once\n");
  return failures != 0;
}
