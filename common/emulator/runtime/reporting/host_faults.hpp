// The host's own loads and stores where they are not allowed: in device memory, and in pinned or managed
// memory while the host has not waited for work on it. Such memory is closed with mprotect, and the fault is
// recorded.
#pragma once

#include "machine/address_space.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpfold::runtime {

// Bytes of the host's memory that work may still use, and the pages to close for it.
struct BusyRange {
  std::uint64_t begin = 0, end = 0;            // what is in use
  std::uint64_t first_page = 0, pages_end = 0; // the pages that can be closed: they hold no other memory
  bool written = false;                        // otherwise work only reads, and the host may read too
  std::uint32_t actor = 0, number = 0;         // the operation that uses it (analysis/host_order.hpp)
  bool operator==(const BusyRange&) const = default;
};

// Closes these, at most `most_closed`, and opens what was closed before.
constexpr std::size_t most_closed = 1 << 16;
void close_to_host(std::vector<BusyRange> ranges);

namespace ordering {
struct Current;
}

struct HostFault {
  static constexpr std::size_t most_frames = 12;
  std::uint64_t address = 0;
  bool is_write = false;
  bool of_device = false;                // memory of the device alone
  std::uint32_t actor = 0, number = 0;   // otherwise: the operation that may still use the memory
  const ordering::Current* by = nullptr; // the work of the thread: a host function; null if it does none
  std::uint64_t at = 0;                  // the instruction
  void* frames[most_frames] =
      {}; // return addresses: the handler's, then those of the function with the instruction and its callers
  int frame_count = 0;
};

// Whether a SIGSEGV that the host has met, with the context that its handler was given, is dealt with here:
// it is recorded, or what was closed is open, so that the instruction can be tried again.
bool takes_fault(const siginfo_t* info, void* context);

// The faults since the last call, or the first `most_faults` of them. Cheap if there are none.
constexpr std::size_t most_faults = 1024;
std::vector<HostFault> take_host_faults();

// Device memory is closed except while a DeviceMemoryInUse exists. With checks on, a fault there is recorded
// and the memory is opened, so that one mistake does not hide the next; without checks, it is reported, and
// the process ends as it would on a GPU.
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
