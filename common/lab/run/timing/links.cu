// Measures what links each pair of devices, for `kit device`:
//
//   links [--megabytes M]        (256: the size of the copies whose bandwidth is measured)
//
// It prints JSON: {"gpus": 2, "links": [{"from": 0, "to": 1, "peer_access": true, "gb_per_s": ...,
// "both_ways_gb_per_s": ..., "copy_us": ..., "read_us": ...}, ...]}, an entry for each ordered pair.
//
//   gb_per_s             copies from `from` to `to`, one after the other, by events round all of them
//   both_ways_gb_per_s   while as much is copied from `to` to `from`: the bytes of both, over the time until
//                        both are done; the same in both entries of a pair
//   copy_us              each of a row of 4-byte copies, queued before the first one begins
//   read_us              each of a chain of dependent 4-byte loads by one thread of a kernel on `from`, out
//   of
//                        memory of `to`; null without peer access
//
// A figure is the median of nine measurements. Without peer access copies go through the host's memory. It
// ends with 77 where there are not two devices. On the emulator it runs as well, but its times mean nothing.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime.h>

namespace {

void require(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "links: %s: %s\n", call, cudaGetErrorString(status));
  std::exit(1);
}
#define REQUIRE(call) require((call), #call)

constexpr int measurements = 9;
constexpr int large_copies = 8;  // of one measurement
constexpr int small_copies = 64; // of one measurement; a stream's queue holds far more
constexpr int loads = 4096;      // of one measurement: the launch is less than a percent of them

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// Keeps a stream from beginning until the host has queued all that is to be timed.
__global__ void spin(unsigned long long duration) {
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < duration) {
  }
}
constexpr unsigned long long until_queued = 1'000'000;

// `chain` holds zeros, which the compiler can't know: no load can start before the one before it has ended.
// A volatile load is answered by the memory's own device, and never by a cache of the one that asks.
__global__ void follow(const volatile unsigned* chain, int steps, unsigned* last) {
  unsigned at = 0;
  for (int i = 0; i < steps; ++i) at = chain[at];
  *last = at;
}

// What a device has for all measurements that it takes part in.
struct Side {
  int device = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t start = nullptr, stop = nullptr;
  char *out = nullptr, *in = nullptr; // what it sends from, and what it receives into
  unsigned *zeros = nullptr, *last = nullptr;
};

Side side_of(int device, std::size_t bytes) {
  Side side;
  side.device = device;
  REQUIRE(cudaSetDevice(device));
  REQUIRE(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking));
  REQUIRE(cudaEventCreate(&side.start));
  REQUIRE(cudaEventCreate(&side.stop));
  REQUIRE(cudaMalloc(&side.out, bytes));
  REQUIRE(cudaMalloc(&side.in, bytes));
  REQUIRE(cudaMalloc(&side.zeros, 256));
  REQUIRE(cudaMalloc(&side.last, 256));
  REQUIRE(cudaMemset(side.out, 1, bytes));
  REQUIRE(cudaMemset(side.zeros, 0, 256));
  REQUIRE(cudaDeviceSynchronize());
  return side;
}

void release(const Side& side) {
  REQUIRE(cudaSetDevice(side.device));
  for (void* memory : std::array<void*, 4>{side.out, side.in, side.zeros, side.last})
    REQUIRE(cudaFree(memory));
  REQUIRE(cudaEventDestroy(side.start));
  REQUIRE(cudaEventDestroy(side.stop));
  REQUIRE(cudaStreamDestroy(side.stream));
}

// The median of the milliseconds that `once` takes, after a first time that is not counted.
double median(const std::function<double()>& once) {
  once();
  std::array<double, measurements> times;
  for (double& time : times) time = once();
  std::sort(times.begin(), times.end());
  return times[measurements / 2];
}

// Milliseconds by the events of one device round what `work` queues in its stream.
double timed(const Side& side, const std::function<void()>& work) {
  REQUIRE(cudaSetDevice(side.device));
  spin<<<1, 1, 0, side.stream>>>(until_queued);
  REQUIRE(cudaGetLastError());
  REQUIRE(cudaEventRecord(side.start, side.stream));
  work();
  REQUIRE(cudaEventRecord(side.stop, side.stream));
  REQUIRE(cudaStreamSynchronize(side.stream));
  float milliseconds = 0;
  REQUIRE(cudaEventElapsedTime(&milliseconds, side.start, side.stop));
  return milliseconds;
}

void send(const Side& from, const Side& to, std::size_t bytes, int times) {
  for (int i = 0; i < times; ++i)
    REQUIRE(cudaMemcpyPeerAsync(to.in, to.device, from.out, from.device, bytes, from.stream));
}

double gb_per_s(const Side& from, const Side& to, std::size_t bytes) {
  const double milliseconds =
      median([&] { return timed(from, [&] { send(from, to, bytes, large_copies); }); });
  return 1e-6 * static_cast<double>(bytes) * large_copies / milliseconds;
}

// `to` begins when `from` does, and `from` is done when both are.
double both_ways_gb_per_s(const Side& from, const Side& to, std::size_t bytes) {
  const double milliseconds = median([&] {
    return timed(from, [&] {
      REQUIRE(cudaStreamWaitEvent(to.stream, from.start));
      REQUIRE(cudaSetDevice(to.device));
      send(to, from, bytes, large_copies);
      REQUIRE(cudaEventRecord(to.stop, to.stream));
      REQUIRE(cudaSetDevice(from.device));
      send(from, to, bytes, large_copies);
      REQUIRE(cudaStreamWaitEvent(from.stream, to.stop));
    });
  });
  return 2e-6 * static_cast<double>(bytes) * large_copies / milliseconds;
}

double copy_us(const Side& from, const Side& to) {
  return 1e3 * median([&] { return timed(from, [&] { send(from, to, 4, small_copies); }); }) / small_copies;
}

double read_us(const Side& from, const Side& to) {
  return 1e3 * median([&] {
           return timed(from, [&] {
             follow<<<1, 1, 0, from.stream>>>(to.zeros, loads, from.last);
             REQUIRE(cudaGetLastError());
           });
         }) /
         loads;
}

// Whether `from` may use memory of `to`, and from now on it does.
bool let_reach(int from, int to) {
  int possible = 0;
  REQUIRE(cudaDeviceCanAccessPeer(&possible, from, to));
  if (!possible) return false;
  REQUIRE(cudaSetDevice(from));
  REQUIRE(cudaDeviceEnablePeerAccess(to, 0));
  return true;
}

void print_links(int devices, std::size_t bytes) {
  std::vector<Side> sides;
  for (int device = 0; device < devices; ++device) sides.push_back(side_of(device, bytes));
  std::vector<std::vector<bool>> reaches(devices, std::vector<bool>(devices));
  for (int from = 0; from < devices; ++from)
    for (int to = 0; to < devices; ++to) reaches[from][to] = from != to && let_reach(from, to);

  std::vector<std::vector<double>> both(devices, std::vector<double>(devices));
  for (int from = 0; from < devices; ++from)
    for (int to = from + 1; to < devices; ++to)
      both[from][to] = both[to][from] = both_ways_gb_per_s(sides[from], sides[to], bytes);

  std::printf("{\"gpus\": %d, \"links\": [", devices);
  const char* separator = "\n";
  for (int from = 0; from < devices; ++from) {
    for (int to = 0; to < devices; ++to) {
      if (from == to) continue;
      const Side &a = sides[from], &b = sides[to];
      char read[32] = "null";
      if (reaches[from][to]) std::snprintf(read, sizeof read, "%.3f", read_us(a, b));
      std::printf("%s  {\"from\": %d, \"to\": %d, \"peer_access\": %s, \"gb_per_s\": %.2f, "
                  "\"both_ways_gb_per_s\": %.2f, \"copy_us\": %.3f, \"read_us\": %s}",
                  separator, from, to, reaches[from][to] ? "true" : "false", gb_per_s(a, b, bytes),
                  both[from][to], copy_us(a, b), read);
      separator = ",\n";
    }
  }
  std::printf("\n]}\n");
  for (const Side& side : sides) release(side);
}

// 0 if this is no number of megabytes.
std::size_t megabytes_of(const char* text) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return end != text && *end == '\0' && value >= 1 && value <= 4096 ? static_cast<std::size_t>(value) : 0;
}

} // namespace

int main(int argc, char** argv) {
  std::size_t megabytes = 256;
  if (argc == 3 && std::strcmp(argv[1], "--megabytes") == 0) megabytes = megabytes_of(argv[2]);
  if ((argc != 1 && argc != 3) || (argc == 3 && std::strcmp(argv[1], "--megabytes") != 0) || megabytes == 0) {
    std::fprintf(stderr, "usage: links [--megabytes M], from 1 to 4096\n");
    return 2;
  }
  int devices = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess) {
    std::fprintf(stderr, "links: there is no GPU to measure: %s\n", cudaGetErrorString(status));
    return 77;
  }
  if (devices < 2) {
    std::fprintf(stderr, "links: one GPU has no links to measure\n");
    return 77;
  }
  print_links(devices, megabytes << 20);
}
