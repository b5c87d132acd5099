#include "run/many_gpus/shared_out.hpp"

#include "run/cuda_errors.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include <cuda_runtime_api.h>

namespace lab {

void refuse_shard(unsigned index, unsigned count) {
  throw DeviceError(fmt::format("shards[{}] does not exist: there are {}, from shards[0] to shards[{}]",
                                index, count, count - 1));
}

Sequence part_of(const Sequence& input, std::size_t first, std::size_t count) {
  const std::size_t width = size_of(input.type);
  const std::size_t period = std::min(count, input.period);
  std::vector<std::byte> values(period * width);
  for (std::size_t done = 0; done < period;) {
    const std::size_t at = (first + done) % input.period;
    const std::size_t more = std::min(period - done, input.period - at);
    std::memcpy(values.data() + done * width, input.values.data() + at * width, more * width);
    done += more;
  }
  return {input.type, input.kind, input.op, count, period, input.seed, std::move(values)};
}

OnDevice::OnDevice(int device) {
  cudaGetDevice(&before_);
  if (const cudaError_t error = cudaSetDevice(device); error != cudaSuccess)
    throw DeviceError(fmt::format("device {} cannot be used: {}", device, explain(error)));
}

OnDevice::~OnDevice() {
  cudaSetDevice(before_);
}

SharedOut::SharedOut(const Sequence& input, unsigned devices, std::size_t offset) {
  for (unsigned k = 0; k < devices; ++k) add(input, devices, k, static_cast<int>(k), offset);
}

SharedOut::SharedOut(const Sequence& input, unsigned parts, unsigned part, int device, std::size_t offset)
    : first_(first_of_part(input.n, parts, part)) {
  add(input, parts, part, device, offset);
}

SharedOut::~SharedOut() = default;

void SharedOut::add(const Sequence& input, unsigned parts, unsigned part, int device, std::size_t offset) {
  const OnDevice in_use(device);
  const std::size_t first = first_of_part(input.n, parts, part);
  const Sequence& mine =
      parts_.emplace_back(part_of(input, first, first_of_part(input.n, parts, part + 1) - first));
  const std::size_t width = size_of(input.type);
  const DeviceBuffer& buffer =
      buffers_.emplace_back(fmt::format("the input on device {}", device), mine.n * width, offset * width);
  upload(mine, buffer.data());
  shards_.push_back({device, static_cast<const float*>(buffer.data()), mine.n});
}

std::string SharedOut::change() const {
  std::size_t first = first_;
  for (std::size_t k = 0; k < parts_.size(); first += parts_[k++].n) {
    const OnDevice in_use(shards_[k].device);
    const std::size_t at = first_change(parts_[k], buffers_[k].data());
    if (at < parts_[k].n)
      return fmt::format("the input was changed, first at element {} (element {} of the shard on device {})",
                         first + at, at, shards_[k].device);
  }
  return "";
}

std::string SharedOut::damage() const {
  for (const DeviceBuffer& buffer : buffers_)
    if (std::string where = buffer.damage(); !where.empty()) return where;
  return "";
}

int wait_for(Shards devices) {
  if (devices.size() == 0) return cudaDeviceSynchronize();
  cudaError_t first = cudaSuccess;
  int before = 0;
  cudaGetDevice(&before);
  for (const Shard& each : devices) {
    cudaError_t error = cudaSetDevice(each.device);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    if (first == cudaSuccess) first = error;
  }
  cudaSetDevice(before);
  return first;
}

void end_peer_access(Shards devices) {
  for (const Shard& each : devices) {
    const OnDevice in_use(each.device);
    for (const Shard& peer : devices)
      if (peer.device != each.device) cudaDeviceDisablePeerAccess(peer.device);
  }
  cudaGetLastError(); // of those that never had access
}

} // namespace lab
