#include "run/memory.hpp"

#include "run/cuda_errors.hpp"
#include "run/device.hpp"
#include "run/emulator.hpp"
#include "run/timing/repetition.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <thread>
#include <utility>

#include <cuda_runtime_api.h>

namespace lab {
namespace {

constexpr std::size_t canary_bytes = 256;
constexpr unsigned char canary = 0xA5;

void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw DeviceError(fmt::format("{}: {}", what, explain(error)));
}

// A GPU is often shared: what is not free now may be as soon as another program's run ends.
cudaError_t allocate(void** allocation, std::size_t bytes) {
  using clock = std::chrono::steady_clock;
  for (const auto end = clock::now() + std::chrono::seconds(10);;) {
    const cudaError_t error = cudaMalloc(allocation, bytes);
    std::size_t free_bytes = 0, total = 0;
    if (error != cudaErrorMemoryAllocation || on_emulator() || clock::now() >= end ||
        cudaMemGetInfo(&free_bytes, &total) != cudaSuccess || bytes > total / 10 * 9)
      return error;
    cudaGetLastError(); // clears it
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::vector<DeviceBuffer> scratch_buffers;
std::size_t scratch_used = 0;
bool scratch_is_zeroed = false;

// On the emulator, fresh memory is 0 but for parts of pages at its two ends.
void zero_fresh_memory(std::byte* begin, std::size_t bytes) {
  const std::size_t end = std::min<std::size_t>(bytes, 1 << 16);
  require(cudaMemset(begin, 0, end), "zeroing memory");
  require(cudaMemset(begin + bytes - end, 0, end), "zeroing memory");
}

} // namespace

DeviceBuffer::DeviceBuffer(std::string name, std::size_t bytes, std::size_t offset)
    : name_(std::move(name)), bytes_(bytes) {
  const bool guarded = !on_emulator();
  cudaGetDevice(&device_);
  before_ = guarded ? canary_bytes + offset : offset;
  after_ = guarded ? canary_bytes : 0;
  const std::size_t all = before_ + bytes + after_;
  const cudaError_t error = allocate(&allocation_, all);
  if (error != cudaSuccess) {
    // After some errors, such as a kernel that had to be stopped, every later call fails with the same one.
    if (cudaGetLastError() != cudaErrorMemoryAllocation)
      throw DeviceError(
          fmt::format("the device takes no more work after an earlier failure: {}", explain(error)));
    std::size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    throw OutOfMemory(fmt::format("cannot allocate {} bytes of device memory ({} of {} are free): {}", all,
                                  free_bytes, total, explain(error)));
  }
  data_ = static_cast<char*>(allocation_) + before_;
  name_memory(data_, name_);
  if (!guarded) return;
  require(cudaMemset(allocation_, canary, before_), "cudaMemset");
  require(cudaMemset(static_cast<char*>(data_) + bytes_, canary, after_), "cudaMemset");
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : name_(std::move(other.name_)), allocation_(std::exchange(other.allocation_, nullptr)),
      data_(other.data_), bytes_(other.bytes_), before_(other.before_), after_(other.after_),
      device_(other.device_) {}

DeviceBuffer::~DeviceBuffer() {
  if (allocation_) cudaFree(allocation_);
}

std::string DeviceBuffer::damage() const {
  if (after_ == 0) return "";
  std::vector<unsigned char> guard(std::max(before_, after_));
  require(cudaMemcpy(guard.data(), allocation_, before_, cudaMemcpyDeviceToHost), "reading the canary");
  for (std::size_t i = before_; i-- > 0;) {
    if (guard[i] != canary) return fmt::format("{} bytes before the start of {}", before_ - i, name_);
  }
  require(cudaMemcpy(guard.data(), static_cast<char*>(data_) + bytes_, after_, cudaMemcpyDeviceToHost),
          "reading the canary");
  for (std::size_t i = 0; i < after_; ++i) {
    if (guard[i] != canary) return fmt::format("{} bytes past the end of {}", i, name_);
  }
  return "";
}

void upload(const Sequence& input, void* destination) {
  const std::size_t bytes = input.n * size_of(input.type);
  std::size_t done = std::min(bytes, input.values.size());
  char* out = static_cast<char*>(destination);
  if (bytes == 0) return;
  require(cudaMemcpy(out, input.values.data(), done, cudaMemcpyHostToDevice), "copying the input");
  while (done < bytes) { // repeats what is there, whole periods
    const std::size_t more = std::min(done, bytes - done);
    require(cudaMemcpy(out + done, out, more, cudaMemcpyDeviceToDevice), "copying the input");
    done += more;
  }
}

std::size_t first_change(const Sequence& input, const void* device_memory) {
  const std::size_t width = size_of(input.type), bytes = input.n * width;
  std::vector<std::byte> read(std::min(bytes, input.values.size()));
  if (bytes == 0) return 0;
  require(cudaMemcpy(read.data(), device_memory, read.size(), cudaMemcpyDeviceToHost),
          "reading the input back");
  if (std::memcmp(read.data(), input.values.data(), read.size()) != 0) {
    const auto differs = std::mismatch(read.begin(), read.end(), input.values.begin()).first;
    return static_cast<std::size_t>(differs - read.begin()) / width;
  }
  if (read.size() == bytes) return input.n;
  // The first period is unchanged; the rest is compared with it on the device, which is no part of the run.
  const WithoutChecks unrecorded;
  const DeviceBuffer found("found", sizeof(unsigned long long));
  auto* const first = static_cast<unsigned long long*>(found.data());
  require(cudaMemset(first, 0xff, sizeof *first), "cudaMemset");
  launch_find_difference(device_memory, bytes / 4, read.size() / 4, 8 * multiprocessors(), first);
  unsigned long long word = 0;
  require(cudaMemcpy(&word, first, sizeof word, cudaMemcpyDeviceToHost), "comparing the input");
  return word >= bytes / 4 ? input.n : word * 4 / width;
}

void fill_poison(Type type, Kind kind, std::size_t count, void* device_memory) {
  if (count == 0) return;
  const std::size_t width = size_of(type);
  std::vector<std::byte> bytes(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    store_value(type, poison(type, kind), bytes.data() + i * width);
  }
  require(cudaMemcpy(device_memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
          "poisoning the output");
}

void* scratch_bytes(std::size_t bytes) {
  const std::size_t turn = scratch_used++;
  int device = 0;
  cudaGetDevice(&device);
  if (turn < scratch_buffers.size() && scratch_buffers[turn].bytes() == bytes &&
      scratch_buffers[turn].device() == device)
    return scratch_buffers[turn].data();
  while (scratch_buffers.size() > turn) scratch_buffers.pop_back();
  scratch_buffers.emplace_back(fmt::format("scratch {}", turn + 1), bytes);
  if (scratch_is_zeroed) zero_fresh_memory(static_cast<std::byte*>(scratch_buffers.back().data()), bytes);
  return scratch_buffers.back().data();
}

ScratchRun::ScratchRun(Memory memory) : memory_(memory) {
  scratch_used = 0;
  scratch_is_zeroed = memory == Memory::zeroed;
}

ScratchRun::~ScratchRun() {
  scratch_is_zeroed = false;
  if (memory_ != Memory::kept && on_emulator()) release_scratch();
}

std::string ScratchRun::damage() const {
  for (const DeviceBuffer& buffer : scratch_buffers) {
    if (std::string where = buffer.damage(); !where.empty()) return where;
  }
  return "";
}

void release_scratch() {
  scratch_buffers.clear();
}

} // namespace lab
