#include "run/timing/timing.hpp"

#include "input/row_inputs.hpp"
#include "run/cuda_errors.hpp"
#include "run/device.hpp"
#include "run/in_this_process.hpp"
#include "run/many_gpus/ranks.hpp"
#include "run/many_gpus/shared_out.hpp"
#include "run/timing/bandwidth.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include <cuda_runtime_api.h>

namespace lab {
namespace {

constexpr std::size_t fewest_runs = 41, most_runs = 205;
constexpr double time_budget = 0.5e6; // microseconds
constexpr double warm_up = 0.05e6;    // likewise
constexpr double steady = 0.02;

class Event {
public:
  Event() {
    if (cudaEventCreate(&event_) != cudaSuccess) throw DeviceError("cannot create a CUDA event");
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record() { cudaEventRecord(event_, nullptr); }
  // Microseconds from `earlier` to this event; both must have been reached.
  double since(const Event& earlier) const {
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, earlier.event_, event_);
    return 1e3 * milliseconds;
  }

private:
  cudaEvent_t event_ = nullptr;
};

void wait() {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) throw DeviceError("while timing: " + explain(error));
}

double quantile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(std::llround(part * static_cast<double>(sorted.size() - 1)))];
}

struct Spread {
  double median = 0, low = 0, high = 0;
  std::size_t repetitions = 0;
};

// `run` is called with 0, 1, 2, ...
Spread measure(const std::function<void(std::size_t)>& run) {
  Event start, stop;
  std::size_t turn = 0;
  const auto once = [&] {
    start.record();
    run(turn++);
    stop.record();
    wait();
    return stop.since(start);
  };
  once();
  const double first = std::max(once(), 1.0);
  const auto runs =
      static_cast<std::size_t>(std::clamp(time_budget / first, 5.0, static_cast<double>(fewest_runs)));
  // An idle GPU has lowered its clocks, and takes some tens of milliseconds to raise them.
  for (double spent = first; spent < warm_up; spent += once()) {
  }
  std::vector<double> times;
  Spread spread;
  do {
    for (std::size_t i = 0; i < runs; ++i) times.push_back(once());
    std::sort(times.begin(), times.end());
    spread = {quantile(times, 0.5), quantile(times, 0.25), quantile(times, 0.75), times.size()};
  } while (spread.high - spread.low > steady * spread.median && times.size() + runs <= most_runs &&
           runs == fewest_runs);
  return spread;
}

// Places for the input, one after the other, each aligned to 256 bytes; together more than four times L2.
struct Rotation {
  std::size_t slot, slots;
  explicit Rotation(std::size_t bytes) {
    slot = ceil_div(std::max<std::size_t>(bytes, 1), 256) * 256;
    slots = 1 + ceil_div(4 * device().l2, slot);
  }
  std::size_t bytes() const { return slot * slots; }
};

// Times that are taken on the host's clock.
Spread measure_on_host(const std::function<double()>& once) {
  once();
  const double first = std::max(once(), 1.0);
  for (double spent = first; spent < warm_up; spent += once()) {
  }
  const auto runs = static_cast<std::size_t>(std::clamp(time_budget / first, 5.0, double(most_runs)));
  std::vector<double> times;
  for (std::size_t i = 0; i < runs; ++i) times.push_back(once());
  std::sort(times.begin(), times.end());
  return {quantile(times, 0.5), quantile(times, 0.25), quantile(times, 0.75), times.size()};
}

// Over several devices a run is what passes on the host's clock from the call of the host function until all
// devices are idle. The input stays where it is, so that up to some millions of elements are found in L2.
Spread measure_on_devices(const Variant& variant, const Sequence& input, unsigned block) {
  using clock = std::chrono::steady_clock;
  const SharedOut shared(input, device().count, 0);
  const Shards here = shared.shards();
  DeviceBuffer result("result", sizeof(float));
  if (variant.set_up) variant.set_up(here);
  Arguments arguments;
  arguments.shards = here.begin(), arguments.devices = here.size(), arguments.result = result.data();
  arguments.n = input.n, arguments.block = block;
  const auto once = [&] {
    ScratchRun keep_scratch(ScratchRun::Memory::kept);
    cudaSetDevice(0);
    const auto start = clock::now();
    launch_and_wait(variant, arguments, here);
    return std::chrono::duration<double, std::micro>(clock::now() - start).count();
  };
  const Spread spread = measure_on_host(once);
  release_scratch();
  end_peer_access(here);
  return spread;
}

// With a process for each device, the same as rank 0 sees it: until its own device is idle, which has the
// result.
Spread measure_on_ranks(const Variant& variant, const Sequence& input, unsigned block) {
  RunsTogether together(variant, input, block);
  return measure_on_host([&] { return together.once(); });
}

Spread measure_on_one(const Variant& variant, const Sequence& input, std::size_t rows, unsigned block) {
  const std::size_t bytes = input.n * size_of(variant.type);
  const Rotation rotation(bytes);
  DeviceBuffer inputs("inputs", rotation.bytes()),
      result("result",
             std::max<std::size_t>(variant.maps_rows ? input.n : rows, 1) * size_of(variant.result_type));
  char* const base = static_cast<char*>(inputs.data());
  for (std::size_t i = 0; i < rotation.slots; ++i) {
    if (i == 0) {
      upload(input, base);
    } else {
      cudaMemcpyAsync(base + i * rotation.slot, base, bytes, cudaMemcpyDeviceToDevice, nullptr);
    }
  }
  wait();
  const Spread spread = measure([&](std::size_t turn) {
    ScratchRun keep_scratch(ScratchRun::Memory::kept);
    Arguments arguments;
    arguments.input = base + turn % rotation.slots * rotation.slot, arguments.result = result.data();
    arguments.n = input.n, arguments.rows = rows, arguments.block = block;
    variant.invoke(variant.function, arguments);
  });
  release_scratch();
  return spread;
}

} // namespace

Timing time_variant(const Rung& rung, const Variant& variant, std::size_t n, unsigned block,
                    std::uint64_t seed, std::optional<std::size_t> asked_rows) {
  const std::size_t rows = rows_for(variant, n, asked_rows);
  if (rows > 0) n = n / rows * rows; // whole rows
  const std::size_t width = size_of(variant.type), bytes = n * width * (variant.maps_rows ? 2 : 1); // moved
  const Sequence input = make_input(rung, variant, {usual_kind(rung), n, rows, block}, seed);
  const Spread spread = variant.processes.begin ? measure_on_ranks(variant, input, block)
                        : variant.over_devices  ? measure_on_devices(variant, input, block)
                                                : measure_on_one(variant, input, rows, block);
  Timing timing;
  timing.n = n, timing.rows = rows, timing.block = block, timing.repetitions = spread.repetitions;
  timing.median = spread.median, timing.low = spread.low, timing.high = spread.high;
  timing.bytes_per_second = spread.median > 0 ? static_cast<double>(bytes) / (1e-6 * spread.median) : 0;
  const double devices = devices_for(variant);
  timing.peak_bandwidth = devices * device().peak_bandwidth;
  timing.measured_bandwidth = devices * measured_bandwidth();
  return timing;
}

double measured_bandwidth() {
  static const double best = [] {
    std::size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    // Far beyond L2, and no more than half of what is free.
    const std::size_t bytes = std::min(std::size_t{1} << 31, free_bytes / 2) / 4096 * 4096;
    DeviceBuffer data("data", bytes), sink("sink", 256);
    cudaMemset(data.data(), 1, bytes);
    double fastest = 0;
    for (const unsigned blocks_each : {1u, 2u, 4u, 32u}) {
      const Spread spread = measure([&](std::size_t) {
        launch_read(data.data(), bytes, blocks_each * multiprocessors(), sink.data());
      });
      fastest = std::max(fastest, static_cast<double>(bytes) / (1e-6 * spread.median));
    }
    return fastest;
  }();
  return best;
}

namespace {

template <class T>
double loop_microseconds(Operator op, std::size_t n) {
  using clock = std::chrono::steady_clock;
  const std::vector<T> values(n, T{1});
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) {
    T result{};
    const auto start = clock::now();
    switch (op) {
    case Operator::add:
      for (const T value : values) result += value;
      break;
    case Operator::product:
      for (const T value : values) result *= value;
      break;
    case Operator::min:
      for (const T value : values) result = std::min(result, value);
      break;
    case Operator::max:
      for (const T value : values) result = std::max(result, value);
      break;
    case Operator::bitwise_and:
      break; // no rung reduces with it
    }
    asm volatile("" : : "g"(&result) : "memory"); // keeps the compiler from removing the loop
    times.push_back(std::chrono::duration<double, std::micro>(clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[1];
}

} // namespace

double cpu_loop(Type type, Operator op, std::size_t n) {
  const std::size_t measured = std::min(n, std::size_t{1} << 28);
  if (measured == 0) return 0;
  double time = 0;
  switch (type) {
  case Type::float32:
    time = loop_microseconds<float>(op, measured);
    break;
  case Type::float64:
    time = loop_microseconds<double>(op, measured);
    break;
  case Type::int32:
    time = loop_microseconds<int>(op, measured);
    break;
  case Type::uint32:
    time = loop_microseconds<unsigned>(op, measured);
    break;
  case Type::bfloat16: // which processors do not add
    break;
  }
  return time * (static_cast<double>(n) / static_cast<double>(measured));
}

} // namespace lab
