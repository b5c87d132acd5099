// Times the rungs of lab 09 beside the libraries' sums, all in one run on one GPU:
//
//   peers [--json] [--smallest EXPONENT] [--largest EXPONENT]
//
// Each figure is the median of 48 calls in microseconds, by CUDA events around the whole call (a memset
// counts), with the quartiles. No input is found in L2: consecutive calls read different places of 512 MB or
// more. The calls are timed by two methods. "idle": each finds the GPU idle, as when a program waits for
// every result; what the host needs for a call counts. This is how the labs time. "queued": the calls wait
// behind a kernel that spins until all are enqueued. This is the GPU's own time, as in a program that keeps
// it busy.
//
// CUB's figure is the call alone, its temporary storage at hand. The champion and CUB are measured twice: the
// difference between the two is what such a measurement can't tell apart.
#include "solved_speed_of_light.cuh" // made by Meson: lab 09 solved, without its main()

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <cub/device/device_reduce.cuh>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#ifdef WITH_CUBLAS
#include <cublas_v2.h>
#endif

#include "run/device.hpp"
#include "run/memory.hpp"

namespace {

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  std::exit(1);
}
#define REQUIRE(call) require((call) == cudaSuccess, #call)

constexpr int rounds = 6, repetitions = 8;

struct Contender {
  std::string name;
  std::function<void(const float*, float*, std::size_t)> call;
  bool waits = false; // returns its result to the host, so it can't be queued
  std::size_t most = ~std::size_t{0};
};

struct Measured {
  double median, low, high;
};

__global__ void fill(float* data, std::size_t n) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    data[i] = static_cast<float>((i * 2654435761u >> 7) % 7) - 3.0f;
  }
}

__global__ void empty() {}

__global__ void spin(unsigned long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - start < nanoseconds);
}

// Places for inputs, one after the other and then again from the start.
class Places {
public:
  explicit Places(std::size_t largest) : bytes_(std::max(2 * largest, std::size_t{1} << 29)) {
    REQUIRE(cudaMalloc(&data_, bytes_));
    fill<<<4096, 256>>>(reinterpret_cast<float*>(data_), bytes_ / sizeof(float));
    REQUIRE(cudaDeviceSynchronize());
  }
  const float* next(std::size_t bytes) {
    if (at_ + bytes > bytes_) at_ = 0;
    const float* place = reinterpret_cast<const float*>(data_ + at_);
    at_ += std::max(bytes, std::size_t{1} << 20);
    return place;
  }

private:
  char* data_ = nullptr;
  std::size_t bytes_, at_ = 0;
};

Measured summary(std::vector<float> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const std::size_t n = milliseconds.size();
  return {1e3 * milliseconds[n / 2], 1e3 * milliseconds[n / 4], 1e3 * milliseconds[n - 1 - n / 4]};
}

// One contender's calls in a row, after a call of its own that is not timed: what another one leaves in the
// caches makes a difference of some percent. In `rounds` rounds over all, so that a machine that changes
// meanwhile changes for all.
std::vector<Measured> measure(const std::vector<Contender>& field, std::size_t n, bool queued, Places& places,
                              float* result) {
  std::vector<cudaEvent_t> start(repetitions), stop(repetitions);
  for (cudaEvent_t& event : start) REQUIRE(cudaEventCreate(&event));
  for (cudaEvent_t& event : stop) REQUIRE(cudaEventCreate(&event));
  std::vector<std::vector<float>> times(field.size());
  for (std::size_t turn = 0; turn < rounds * field.size(); ++turn) {
    const Contender& contender = field[turn % field.size()];
    if (queued) spin<<<1, 1>>>(50000 + 20000 * repetitions);
    contender.call(places.next(n * sizeof(float)), result, n);
    for (int i = 0; i < repetitions; ++i) {
      const float* const input = places.next(n * sizeof(float));
      if (!queued) REQUIRE(cudaDeviceSynchronize());
      REQUIRE(cudaEventRecord(start[i]));
      contender.call(input, result, n);
      REQUIRE(cudaEventRecord(stop[i]));
    }
    REQUIRE(cudaDeviceSynchronize());
    for (int i = 0; i < repetitions; ++i) {
      float milliseconds = 0;
      REQUIRE(cudaEventElapsedTime(&milliseconds, start[i], stop[i]));
      times[turn % field.size()].push_back(milliseconds);
    }
  }
  for (cudaEvent_t event : start) cudaEventDestroy(event);
  for (cudaEvent_t event : stop) cudaEventDestroy(event);
  std::vector<Measured> measured;
  for (const std::vector<float>& each : times) measured.push_back(summary(each));
  return measured;
}

void cub_sum(const float* input, float* result, std::size_t n) {
  static void* storage = nullptr;
  static std::size_t bytes = 0;
  if (storage == nullptr) {
    REQUIRE(cub::DeviceReduce::Sum(nullptr, bytes, input, result, 1ll << 33));
    bytes += 1 << 20;
    REQUIRE(cudaMalloc(&storage, bytes));
  }
  if (n < std::size_t{1} << 31) {
    REQUIRE(cub::DeviceReduce::Sum(storage, bytes, input, result, static_cast<int>(n)));
  } else {
    REQUIRE(cub::DeviceReduce::Sum(storage, bytes, input, result, static_cast<long long>(n)));
  }
}

std::vector<Contender> contenders(std::size_t largest) {
  const auto rung = [](auto function, unsigned block) {
    return [=](const float* input, float* result, std::size_t n) {
      lab::ScratchRun again(lab::ScratchRun::Memory::kept); // each call finds the first one's
      function(input, result, n, block);
    };
  };
  float* copy_to = nullptr;
  REQUIRE(cudaMalloc(&copy_to, largest));
  std::vector<Contender> all{{"empty launch", [](const float*, float*, std::size_t) { empty<<<1, 32>>>(); }},
                             {"copy (reads and writes)",
                              [=](const float* input, float*, std::size_t n) {
                                cudaMemcpyAsync(copy_to, input, n * sizeof(float), cudaMemcpyDeviceToDevice);
                              }},
                             {"vectorised", rung(vectorised, 256)},
                             {"one_wave", rung(one_wave, 256)},
                             {"last_block", rung(last_block, 256)},
                             {"champion", rung(champion<float>, 1024)},
                             {"champion again", rung(champion<float>, 1024)},
                             {"cub::DeviceReduce::Sum", cub_sum},
                             {"cub::DeviceReduce::Sum again", cub_sum},
                             {"thrust::reduce",
                              [](const float* input, float*, std::size_t n) {
                                volatile float sum = thrust::reduce(thrust::device, input, input + n);
                                (void)sum;
                              },
                              true}};
#ifdef WITH_CUBLAS
  cublasHandle_t cublas;
  require(cublasCreate(&cublas) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
  cublasSetPointerMode(cublas, CUBLAS_POINTER_MODE_DEVICE);
  all.push_back({"cublasSasum",
                 [=](const float* input, float* result, std::size_t n) {
                   require(cublasSasum(cublas, static_cast<int>(n), input, 1, result) ==
                               CUBLAS_STATUS_SUCCESS,
                           "cublasSasum");
                 },
                 false, (std::size_t{1} << 31) - 1});
#endif
  return all;
}

void report_text(std::size_t exponent, const char* method,
                 const std::vector<std::pair<std::string, Measured>>& table) {
  double cub = 0;
  for (const auto& [name, time] : table) {
    if (name == "cub::DeviceReduce::Sum") cub = time.median;
  }
  std::printf("\n2^%zu floats, %s: %s\n", exponent, method, "us [quartiles], GB/s, CUB's time over it");
  for (const auto& [name, time] : table) {
    std::printf("  %-30s %9.2f [%9.2f %9.2f] %7.0f %7.3f\n", name.c_str(), time.median, time.low, time.high,
                4e-3 * static_cast<double>(std::size_t{1} << exponent) / time.median, cub / time.median);
  }
}

void report_json(std::size_t exponent, const char* method,
                 const std::vector<std::pair<std::string, Measured>>& table) {
  for (const auto& [name, time] : table) {
    static bool first = true;
    std::printf(
        "%s  {\"n\": %zu, \"method\": \"%s\", \"name\": \"%s\", \"us\": %.3f, \"low\": %.3f, \"high\": %.3f}",
        first ? "" : ",\n", std::size_t{1} << exponent, method, name.c_str(), time.median, time.low,
        time.high);
    first = false;
  }
}

} // namespace

int main(int argc, char** argv) {
  bool json = false;
  long smallest = 10, largest = 32;
  const auto is_exponent = [](const char* text, long& value) {
    char* end = nullptr;
    value = std::strtol(text, &end, 10);
    return end != text && *end == '\0' && value >= 10 && value <= 34;
  };
  for (int i = 1; i < argc; ++i) {
    const bool more = i + 1 < argc;
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (more && std::strcmp(argv[i], "--smallest") == 0 && is_exponent(argv[i + 1], smallest)) {
      ++i;
    } else if (more && std::strcmp(argv[i], "--largest") == 0 && is_exponent(argv[i + 1], largest)) {
      ++i;
    } else {
      std::fprintf(stderr,
                   "usage: peers [--json] [--smallest EXPONENT] [--largest EXPONENT], of 2, from 10 to 34\n");
      return 2;
    }
  }
  try {
    lab::open_device(lab::Choice::gpu, argv);
  } catch (const lab::NoDevice& none) {
    std::fprintf(stderr, "no peers to measure without a GPU: %s\n", none.what());
    return 77;
  }
  std::size_t free_bytes = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free_bytes, &total));
  while ((std::size_t{12} << largest) + (std::size_t{1} << 29) > free_bytes && largest > 10) --largest;
  Places places(std::size_t{4} << largest);
  const std::vector<Contender> all = contenders(std::size_t{4} << largest);
  float* result = nullptr;
  REQUIRE(cudaMalloc(&result, 256));
  if (json) std::printf("[\n");
  for (const long exponent : {10, 12, 14, 16, 18, 20, 22, 23, 24, 26, 28, 29, 30, 32, 33, 34}) {
    if (exponent < smallest) continue;
    if (exponent > largest) break;
    const std::size_t n = std::size_t{1} << exponent;
    for (const bool queued : {false, true}) {
      std::vector<Contender> field;
      for (const Contender& contender : all) {
        if (n <= contender.most && !(queued && contender.waits)) field.push_back(contender);
      }
      const std::vector<Measured> measured = measure(field, n, queued, places, result);
      std::vector<std::pair<std::string, Measured>> table;
      for (std::size_t i = 0; i < field.size(); ++i) table.emplace_back(field[i].name, measured[i]);
      (json ? report_json : report_text)(exponent, queued ? "queued" : "idle", table);
    }
  }
  if (json) std::printf("\n]\n");
}
