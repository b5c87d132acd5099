// Times the rungs of lab 12 beside CUB and NCCL, all in one run on the GPUs of one machine, and prints JSON:
//
//   many_gpus [--gpus K] [--smallest EXPONENT] [--largest EXPONENT] [--weak]    sums
//   many_gpus --collectives NAME                                                NCCL's all-reduce, 4 B to 1
//   GiB
//
// K GPUs (all of them), and each power of two below; 2^EXPONENT floats over all GPUs together, exponents in
// steps of 3 and the largest (14 to 33); --weak: 2^32 floats per GPU as well. NAME goes into the output;
// which algorithm NCCL takes is what NCCL_ALGO says.
//
// Each figure is the median of the wall clock's microseconds from before the first launch until all GPUs are
// idle, with the quartiles. Method "rungs": one host thread drives all GPUs, by the lab's host function.
// Method "threads": each GPU has a host thread, which launches and waits for its own stream; the clock runs
// from when all threads are ready until all are done. No input is found in L2: consecutive calls read
// different places of 1 GiB or more per GPU. In rounds over all contenders, so that a machine that changes
// meanwhile changes for all.
//
// Every result is read back and compared: the inputs are whole numbers, whose sums are exact in every order.
// That one_kernel gives the same bits in each run is tried with inputs that round.
#include "solved_many_gpus.cuh" // made by Meson: lab 12 solved, without its main()

#include "run/device.hpp"
#include "run/many_gpus/shared_out.hpp"
#include "run/memory.hpp"
#include "team.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <cub/device/device_reduce.cuh>

// Of champion.cu: the champion of lab 09.
void champion_sum(const float* input, float* result, std::size_t n, cudaStream_t stream);

namespace {

using Clock = std::chrono::steady_clock;

void require(bool good, const char* what, const char* why) {
  if (good) return;
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}
#define REQUIRE(call)                                                                                        \
  do {                                                                                                       \
    const cudaError_t error_ = (call);                                                                       \
    require(error_ == cudaSuccess, #call, cudaGetErrorString(error_));                                       \
  } while (0)
#define REQUIRE_NCCL(call)                                                                                   \
  do {                                                                                                       \
    const ncclResult_t error_ = (call);                                                                      \
    require(error_ == ncclSuccess, #call, ncclGetErrorString(error_));                                       \
  } while (0)

// Whole numbers from -3 to 3.
__global__ void fill(float* data, std::size_t n, unsigned seed) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    data[i] = static_cast<float>(((i + seed) * 2654435761u >> 7) % 7) - 3.0f;
}

__global__ void fill_rounding(float* data, std::size_t n, unsigned seed) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    data[i] = static_cast<float>(((i + seed) * 2654435761u) % 1000003) * 0.37f - 1.5e5f;
}

__global__ void exact_sum(const float* data, std::size_t n, unsigned long long* sum) {
  long long mine = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    mine += static_cast<long long>(data[i]);
  atomicAdd(sum, static_cast<unsigned long long>(mine));
}

// What one GPU has for all measurements.
struct Gpu {
  int device = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  float *input = nullptr, *sum = nullptr;
  unsigned long long* exact = nullptr;
  std::size_t room = 0, at = 0; // floats
  void* storage = nullptr;      // CUB's
  std::size_t storage_bytes = 0;
  float* sums = nullptr; // of blocks

  const float* place(std::size_t n) {
    if (at + n > room) at = 0;
    const float* here = input + at;
    at += std::max(n, std::size_t{1} << 18);
    return here;
  }
};

constexpr std::size_t most_sums = 1 << 20;

std::vector<Gpu> make_gpus(unsigned count, std::size_t largest_part) {
  std::vector<Gpu> gpus(count);
  for (unsigned k = 0; k < count; ++k) {
    Gpu& gpu = gpus[k];
    gpu.device = int(k), gpu.room = std::max(2 * largest_part, std::size_t{1} << 28);
    REQUIRE(cudaSetDevice(gpu.device));
    const Queue queue = queue_of(gpu.device);
    gpu.stream = queue.stream, gpu.done = queue.done;
    REQUIRE(cudaMalloc(&gpu.input, gpu.room * sizeof(float)));
    REQUIRE(cudaMalloc(&gpu.sum, 64 * sizeof(float)));
    REQUIRE(cudaMalloc(&gpu.exact, sizeof *gpu.exact));
    REQUIRE(cudaMalloc(&gpu.sums, most_sums * sizeof(float)));
    REQUIRE(cub::DeviceReduce::Sum(nullptr, gpu.storage_bytes, gpu.input, gpu.sum, 1ll << 34));
    gpu.storage_bytes += 1 << 20;
    REQUIRE(cudaMalloc(&gpu.storage, gpu.storage_bytes));
    fill<<<4096, 256>>>(gpu.input, gpu.room, 1234567 * k);
    REQUIRE(cudaDeviceSynchronize());
    cudaFuncAttributes
        loaded; // CUDA loads a kernel when it is first needed, which may wait for those that run
    REQUIRE(cudaFuncGetAttributes(&loaded, exchange_kernel));
  }
  return gpus;
}

// One call: each GPU's input, and where the result goes, on GPU 0.
struct Call {
  std::vector<lab::Shard> shards;
  float* result = nullptr;
  unsigned number = 0; // of all calls, from 1
};

struct Contender {
  std::string name, method;
  // "rungs": called once; "threads": by each thread.
  std::function<void(const Call&)> whole;
  std::function<void(const Call&, unsigned k)> part;
  bool parts_alone = false; // leaves each GPU's sum there
};

void cub_sum(Gpu& gpu, const lab::Shard& shard, float* sum) {
  const std::size_t bytes = gpu.storage_bytes;
  std::size_t given = bytes;
  if (shard.n < std::size_t{1} << 31)
    REQUIRE(
        cub::DeviceReduce::Sum(gpu.storage, given, shard.input, sum, static_cast<int>(shard.n), gpu.stream));
  else
    REQUIRE(cub::DeviceReduce::Sum(gpu.storage, given, shard.input, sum, static_cast<long long>(shard.n),
                                   gpu.stream));
}

// Of the kernel that exchanges its sums: small blocks for few elements, as the champion chooses.
unsigned block_for(std::size_t part) {
  return part <= std::size_t{1} << 22 ? 256 : 1024;
}

std::vector<Contender> contenders(std::vector<Gpu>& gpus, Team& team,
                                  const std::vector<ncclComm_t>& members) {
  std::vector<Contender> all;
  const auto rung = [&](const char* name, void (*function)(lab::Shards, float*, unsigned)) {
    all.push_back({name, "rungs", [=](const Call& call) {
                     lab::ScratchRun keep(lab::ScratchRun::Memory::kept);
                     REQUIRE(cudaSetDevice(0));
                     function({call.shards.data(), unsigned(call.shards.size())}, call.result,
                              block_for(call.shards[0].n));
                   }});
  };
  rung("peer_copies", peer_copies);
  rung("peer_reads", peer_reads);
  rung("nccl_reduce", nccl_reduce);
  rung("one_kernel", one_kernel);

  const auto threads = [&](const char* name, std::function<void(const Call&, unsigned)> part,
                           bool parts_alone = false) {
    all.push_back({name, "threads", nullptr, std::move(part), parts_alone});
  };
  const auto wait = [&gpus](unsigned k) { REQUIRE(cudaStreamSynchronize(gpus[k].stream)); };
  threads("one_kernel", [&gpus, wait](const Call& call, unsigned k) {
    // Runs of the lab's own host function have the low numbers.
    launch_exchange({call.shards.data(), unsigned(call.shards.size())}, k, gpus[k].sums, call.result,
                    (1u << 30) + call.number, block_for(call.shards[k].n));
    wait(k);
  });
  threads(
      "champion, parts alone",
      [&gpus, wait](const Call& call, unsigned k) {
        champion_sum(call.shards[k].input, gpus[k].sum, call.shards[k].n, gpus[k].stream);
        wait(k);
      },
      true);
  threads(
      "CUB, parts alone",
      [&gpus, wait](const Call& call, unsigned k) {
        cub_sum(gpus[k], call.shards[k], gpus[k].sum);
        wait(k);
      },
      true);
  threads("CUB + ncclReduce", [&gpus, &members, wait](const Call& call, unsigned k) {
    cub_sum(gpus[k], call.shards[k], gpus[k].sum);
    REQUIRE_NCCL(ncclReduce(gpus[k].sum, call.result, 1, ncclFloat, ncclSum, 0, members[k], gpus[k].stream));
    wait(k);
  });
  threads("CUB + peer copies", [&gpus, &team, wait](const Call& call, unsigned k) {
    const unsigned count = unsigned(call.shards.size());
    cub_sum(gpus[k], call.shards[k], gpus[k].sum + (k == 0 ? 32 : 0));
    if (k == 0)
      REQUIRE(cudaMemcpyAsync(gpus[0].sum, gpus[0].sum + 32, sizeof(float), cudaMemcpyDeviceToDevice,
                              gpus[0].stream));
    else
      REQUIRE(cudaMemcpyPeerAsync(gpus[0].sum + k, 0, gpus[k].sum, gpus[k].device, sizeof(float),
                                  gpus[k].stream));
    wait(k);
    team.meet();
    if (k != 0) return;
    add_up_kernel<<<1, 32, 0, gpus[0].stream>>>(gpus[0].sum, count, call.result);
    wait(0);
  });
  return all;
}

struct Measured {
  double median, low, high;
  std::size_t runs;
};

Measured summary(std::vector<double>& microseconds) {
  std::sort(microseconds.begin(), microseconds.end());
  const std::size_t n = microseconds.size();
  return {microseconds[n / 2], microseconds[n / 4], microseconds[n - 1 - n / 4], n};
}

class Meter {
public:
  Meter(std::vector<Gpu>& gpus, unsigned count) : gpus_(gpus), count_(count), team_(count) {
    // One set for the rung and for the host threads, and none of another count beside it: with several,
    // NCCL's calls took two to five times as long.
    std::vector<lab::Shard> everyone;
    for (unsigned k = 0; k < count; ++k) everyone.push_back({gpus[k].device, gpus[k].input, 0});
    const ncclComm_t* const members = communicators({everyone.data(), count});
    members_.assign(members, members + count);
    field_ = contenders(gpus, team_, members_);
    // A GPU that was idle until now has lowered its clocks, and takes some tens of milliseconds to raise
    // them.
    const auto begin = Clock::now();
    while (Clock::now() - begin < std::chrono::milliseconds(300))
      for (const Contender& each : field_) timed(each, std::size_t{count} << 24);
  }
  ~Meter() {
    for (ncclComm_t member : members_) ncclCommDestroy(member);
  }

  std::vector<std::pair<const Contender*, Measured>> times(std::size_t n) {
    // Two to eight rounds of 20, by how long they take, each after calls that are not timed.
    const double expected = 20.0 + 4.0 * double(n) / double(count_) / 4e6;
    const auto rounds = static_cast<std::size_t>(std::clamp(1e5 / (20 * expected), 2.0, 8.0));
    std::vector<std::vector<double>> taken(field_.size());
    for (std::size_t turn = 0; turn < rounds * field_.size(); ++turn) {
      const std::size_t which = turn % field_.size();
      for (unsigned i = 0; i < 5; ++i) timed(field_[which], n);
      for (unsigned i = 0; i < 20; ++i) taken[which].push_back(timed(field_[which], n));
    }
    std::vector<std::pair<const Contender*, Measured>> all;
    for (std::size_t i = 0; i < field_.size(); ++i) all.emplace_back(&field_[i], summary(taken[i]));
    return all;
  }

  // Of one input that rounds: the different results of 200 runs.
  std::size_t different_bits(std::size_t n) {
    const Call call = next(n);
    for (unsigned k = 0; k < count_; ++k) {
      REQUIRE(cudaSetDevice(gpus_[k].device));
      fill_rounding<<<1024, 256>>>(const_cast<float*>(call.shards[k].input), call.shards[k].n, 99 * k);
      REQUIRE(cudaDeviceSynchronize());
    }
    std::vector<std::uint32_t> seen;
    for (unsigned run = 0; run < 200; ++run) {
      Call again = call;
      again.number = ++calls;
      const Contender& contender = *std::find_if(field_.begin(), field_.end(), [&](const Contender& each) {
        return each.name == "one_kernel" && each.method == "threads";
      });
      team_.all([&](unsigned k) {
        REQUIRE(cudaSetDevice(gpus_[k].device));
        contender.part(again, k);
      });
      std::uint32_t bits = 0;
      REQUIRE(cudaMemcpy(&bits, call.result, sizeof bits, cudaMemcpyDeviceToHost));
      if (std::find(seen.begin(), seen.end(), bits) == seen.end()) seen.push_back(bits);
    }
    for (unsigned k = 0; k < count_; ++k) {
      REQUIRE(cudaSetDevice(gpus_[k].device));
      fill<<<4096, 256>>>(gpus_[k].input, gpus_[k].room, 1234567 * k);
      REQUIRE(cudaDeviceSynchronize());
    }
    return seen.size();
  }

private:
  Call next(std::size_t n) {
    Call call;
    call.result = gpus_[0].sum + 63, call.number = ++calls;
    for (unsigned k = 0; k < count_; ++k) {
      const std::size_t mine = n * (k + 1) / count_ - n * k / count_;
      call.shards.push_back({gpus_[k].device, gpus_[k].place(mine), mine});
    }
    return call;
  }

  double timed(const Contender& contender, std::size_t n) {
    const Call call = next(n);
    const float poison = std::nanf("");
    REQUIRE(cudaSetDevice(0));
    REQUIRE(cudaMemcpy(call.result, &poison, sizeof poison, cudaMemcpyHostToDevice));
    for (unsigned k = 0; contender.parts_alone && k < count_; ++k)
      REQUIRE(cudaMemcpy(gpus_[k].sum, &poison, sizeof poison, cudaMemcpyHostToDevice));
    Clock::time_point start, stop;
    if (contender.whole) {
      start = Clock::now();
      contender.whole(call);
      require(lab::wait_for({call.shards.data(), count_}) == 0, contender.name.c_str(),
              "the GPUs report an error");
      stop = Clock::now();
    } else {
      team_.all([&](unsigned k) {
        REQUIRE(cudaSetDevice(gpus_[k].device));
        team_.meet();
        if (k == 0) start = Clock::now();
        contender.part(call, k);
        team_.meet();
        if (k == 0) stop = Clock::now();
      });
    }
    check(contender, call, n);
    return std::chrono::duration<double, std::micro>(stop - start).count();
  }

  void check(const Contender& contender, const Call& call, std::size_t n) {
    float got = 0;
    if (contender.parts_alone) {
      for (unsigned k = 0; k < count_; ++k) {
        float part = 0;
        REQUIRE(cudaMemcpy(&part, gpus_[k].sum, sizeof part, cudaMemcpyDeviceToHost));
        got += part;
      }
    } else {
      REQUIRE(cudaMemcpy(&got, call.result, sizeof got, cudaMemcpyDeviceToHost));
    }
    // Exact sums of so many numbers take longer than what is measured: of the larger ones, only now and then.
    if (n > std::size_t{1} << 26 && call.number % 5 != 0) {
      require(std::isfinite(got), contender.name.c_str(), "left no result");
      return;
    }
    long long expected = 0;
    for (unsigned k = 0; k < count_; ++k) {
      REQUIRE(cudaSetDevice(gpus_[k].device));
      REQUIRE(cudaMemset(gpus_[k].exact, 0, sizeof *gpus_[k].exact));
      exact_sum<<<1024, 256>>>(call.shards[k].input, call.shards[k].n, gpus_[k].exact);
      long long part = 0;
      REQUIRE(cudaMemcpy(&part, gpus_[k].exact, sizeof part, cudaMemcpyDeviceToHost));
      expected += part;
    }
    if (double(got) == double(expected)) return;
    std::fprintf(stderr, "%s (%s), %u GPUs, n = %zu: expected %lld, got %.9g\n", contender.name.c_str(),
                 contender.method.c_str(), count_, n, expected, double(got));
    std::exit(1);
  }

  inline static unsigned calls = 0;
  std::vector<Gpu>& gpus_;
  unsigned count_;
  Team team_;
  std::vector<ncclComm_t> members_;
  std::vector<Contender> field_;
};

void print(bool& first, const char* name, const char* method, unsigned gpus, std::size_t n,
           const Measured& at) {
  std::printf(
      "%s\n  {\"name\": \"%s\", \"method\": \"%s\", \"gpus\": %u, \"n\": %zu, \"us\": %.2f, \"low\": %.2f, "
      "\"high\": %.2f, \"runs\": %zu}",
      first ? "" : ",", name, method, gpus, n, at.median, at.low, at.high, at.runs);
  std::fflush(stdout);
  first = false;
}

std::vector<unsigned> counts_up_to(unsigned most) {
  std::vector<unsigned> counts;
  for (unsigned count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

void measure_sums(unsigned most, unsigned smallest, unsigned largest, bool weak) {
  const std::size_t all = std::size_t{1} << largest, per_gpu = std::size_t{1} << 32;
  std::vector<Gpu> gpus = make_gpus(most, std::max(all, weak ? per_gpu : 0));
  std::vector<lab::Shard> everyone;
  for (const Gpu& gpu : gpus) everyone.push_back({gpu.device, gpu.input, 0});
  let_all_reach_all({everyone.data(), most});
  std::string bits;
  bool first = true;
  std::printf(" \"times\": [");
  for (const unsigned count : counts_up_to(most)) {
    Meter meter(gpus, count);
    std::vector<std::size_t> sizes;
    for (unsigned exponent = smallest; exponent < largest; exponent += 3)
      sizes.push_back(std::size_t{1} << exponent);
    sizes.push_back(all);
    if (weak && std::find(sizes.begin(), sizes.end(), count * per_gpu) == sizes.end())
      sizes.push_back(count * per_gpu);
    for (const std::size_t n : sizes)
      for (const auto& [contender, measured] : meter.times(n))
        print(first, contender->name.c_str(), contender->method.c_str(), count, n, measured);
    for (const unsigned exponent : {14u, 20u, 26u})
      if (exponent >= smallest && exponent <= largest)
        bits += std::string(bits.empty() ? "" : ",") +
                "\n  {\"name\": \"one_kernel\", \"gpus\": " + std::to_string(count) +
                ", \"n\": " + std::to_string(std::size_t{1} << exponent) +
                ", \"runs\": 200, \"different_results\": " +
                std::to_string(meter.different_bits(std::size_t{1} << exponent)) + "}";
  }
  std::printf("\n ],\n \"bits\": [%s\n ]\n", bits.c_str());
}

void measure_collectives(unsigned most, const char* algorithm) {
  bool first = true;
  std::printf(" \"collectives\": [");
  constexpr std::size_t largest = std::size_t{1} << 30;
  for (const unsigned count : counts_up_to(most)) {
    if (count == 1) continue;
    std::vector<ncclComm_t> members(count);
    std::vector<int> devices;
    std::vector<float*> data(count);
    std::vector<cudaStream_t> streams(count);
    for (unsigned k = 0; k < count; ++k) {
      devices.push_back(int(k));
      REQUIRE(cudaSetDevice(int(k)));
      REQUIRE(cudaMalloc(&data[k], largest));
      REQUIRE(cudaMemset(data[k], 0, largest));
      streams[k] = queue_of(int(k)).stream;
      REQUIRE(cudaDeviceSynchronize());
    }
    REQUIRE_NCCL(ncclCommInitAll(members.data(), int(count), devices.data()));
    Team team(count);
    for (std::size_t bytes = 4; bytes <= largest; bytes *= 8) {
      const std::size_t runs = bytes > (std::size_t{1} << 24) ? 20 : 100;
      std::vector<double> taken;
      for (std::size_t run = 0; run < runs + 5; ++run) {
        Clock::time_point start, stop;
        team.all([&](unsigned k) {
          REQUIRE(cudaSetDevice(int(k)));
          team.meet();
          if (k == 0) start = Clock::now();
          REQUIRE_NCCL(
              ncclAllReduce(data[k], data[k], bytes / 4, ncclFloat, ncclSum, members[k], streams[k]));
          REQUIRE(cudaStreamSynchronize(streams[k]));
          team.meet();
          if (k == 0) stop = Clock::now();
        });
        if (run >= 5) taken.push_back(std::chrono::duration<double, std::micro>(stop - start).count());
      }
      const Measured measured = summary(taken);
      std::printf("%s\n  {\"name\": \"all_reduce\", \"algorithm\": \"%s\", \"gpus\": %u, \"bytes\": %zu, "
                  "\"us\": %.2f, "
                  "\"low\": %.2f, \"high\": %.2f, \"runs\": %zu}",
                  first ? "" : ",", algorithm, count, bytes, measured.median, measured.low, measured.high,
                  measured.runs);
      first = false;
    }
    for (unsigned k = 0; k < count; ++k) {
      ncclCommDestroy(members[k]);
      REQUIRE(cudaSetDevice(int(k)));
      REQUIRE(cudaFree(data[k]));
    }
  }
  std::printf("\n ]\n");
}

int usage(const char* wrong) {
  std::fprintf(stderr,
               "%s\nusage: many_gpus [--gpus K] [--smallest EXPONENT] [--largest EXPONENT] [--weak]\n"
               "       many_gpus [--gpus K] --collectives NAME\n",
               wrong);
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  unsigned gpus = 0, smallest = 14, largest = 33;
  bool weak = false;
  const char* collectives = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--weak") {
      weak = true;
      continue;
    }
    if (i + 1 == argc) return usage((word + ": not known, or without its value").c_str());
    const char* const value = argv[++i];
    const unsigned number = unsigned(std::strtoul(value, nullptr, 10));
    if (word == "--gpus")
      gpus = number;
    else if (word == "--smallest")
      smallest = number;
    else if (word == "--largest")
      largest = number;
    else if (word == "--collectives")
      collectives = value;
    else
      return usage((word + " is not known").c_str());
  }
  unsigned present = 0;
  try {
    present = lab::open_device(lab::Choice::gpu, argv, std::nullopt).count;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  if (gpus == 0) gpus = present;
  if (gpus > present) return usage(("there are " + std::to_string(present) + " GPUs").c_str());
  if (smallest > largest || largest > 34) return usage("--smallest and --largest: 0 to 34");
  int driver = 0, nccl = 0;
  cudaDeviceProp properties;
  REQUIRE(cudaGetDeviceProperties(&properties, 0));
  REQUIRE(cudaDriverGetVersion(&driver));
  REQUIRE_NCCL(ncclGetVersion(&nccl));
  std::printf("{\"device\": \"%s\", \"gpus\": %u, \"driver\": \"CUDA %d.%d\", \"nccl\": \"%d.%d.%d\",\n",
              properties.name, gpus, driver / 1000, driver % 1000 / 10, nccl / 10000, nccl % 10000 / 100,
              nccl % 100);
  if (collectives)
    measure_collectives(gpus, collectives);
  else
    measure_sums(gpus, smallest, largest, weak);
  std::printf("}\n");
}
