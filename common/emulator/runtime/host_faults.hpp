// The host's own loads and stores, where they are not allowed: in memory of the device alone, and in pinned
// or managed memory while work on it is not waited for. Such memory is closed by mprotect, and the fault is
// noted.
#pragma once

#include "machine/address_space.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpfold::runtime {

// Bytes of the host's memory that work may still use, and the pages to close for it.
struct BusyRange {
  std::uint64_t begin = 0, end = 0;            // what is in use
  std::uint64_t first_page = 0, pages_end = 0; // what can be closed: no other memory lies there
  bool written = false;                        // else read only, and the host may read as well
};

// Closes these and opens what was closed before.
void close_to_host(std::vector<BusyRange> ranges);

struct HostFault {
  static constexpr std::size_t most_frames = 12;
  std::uint64_t address = 0;
  bool is_write = false;
  bool of_device = false; // memory of the device alone
  std::uint64_t at = 0;   // the instruction
  void* frames[most_frames] =
      {}; // return addresses: the handler's, then those of whoever holds the instruction
  int frame_count = 0;
};

// Those since the last call. Cheap where there are none.
std::vector<HostFault> take_host_faults();

// Memory of the device alone is closed whenever nothing that DeviceMemoryInUse stands for is going on. A
// fault there is noted and the memory opened where checks are on, so that one mistake does not hide the next;
// else it is told, and the process ends as it would on a GPU.
void guard_device_memory(machine::AddressSpace& memory, bool guarded);

class DeviceMemoryInUse {
public:
  explicit DeviceMemoryInUse(bool used = true);
  ~DeviceMemoryInUse();
  DeviceMemoryInUse(const DeviceMemoryInUse&) = delete;
  DeviceMemoryInUse& operator=(const DeviceMemoryInUse&) = delete;

private:
  const bool used_;
};

} // namespace warpfold::runtime
