// An array that is shared out among several devices, and what a check does on all of them.
#pragma once

#include "input/case.hpp"
#include "run/memory.hpp"

#include <vector>

namespace lab {

// The part of `count` elements from `first` on.
Sequence part_of(const Sequence& input, std::size_t first, std::size_t count);

// While this object lives, this device is in use; afterwards, the one that was before.
class OnDevice {
public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

private:
  int before_ = 0;
};

// An input in the memory of devices 0, 1, 2 ..., each part starting `offset` elements after an aligned
// address. Throws DeviceError.
class SharedOut {
public:
  SharedOut(const Sequence& input, unsigned devices, std::size_t offset);
  // Of these parts only that of device `device`, which is part `part` of `parts`.
  SharedOut(const Sequence& input, unsigned parts, unsigned part, int device, std::size_t offset);
  ~SharedOut();

  Shards shards() const { return {shards_.data(), static_cast<unsigned>(shards_.size())}; }
  // "", or which element was changed; "", or where memory around the parts was written.
  std::string change() const;
  std::string damage() const;

private:
  void add(const Sequence& input, unsigned parts, unsigned part, int device, std::size_t offset);

  std::vector<Sequence> parts_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<Shard> shards_;
  std::size_t first_ = 0; // of the array's elements, the first in shards_[0]
};

// Waits for these devices, or the one in use if there are none; the first error of any of them.
int wait_for(Shards devices); // a cudaError_t

// Ends the access of each of these devices to the others' memory, as before any was enabled.
void end_peer_access(Shards devices);

} // namespace lab
