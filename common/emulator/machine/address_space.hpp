// Device memory. It is host memory in one reserved range, so that copies and kernels can access all of it in
// the same way, and the address alone shows whether it belongs to a device and to which one: each device has
// a part of the range, and the last part belongs to none of them (pinned and managed memory). In a device's
// part, memory for the device alone grows from the lower end, and variables from the upper end. So the first
// can be closed to the host as a whole.
#pragma once

#include "peers.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace warpfold::machine {

// `imported`: device memory of another process.
enum class MemoryKind : std::uint8_t { device, managed, pinned, registered, variable, constant, imported };

struct Allocation {
  std::uint64_t begin = 0; // device address of the first byte
  std::uint64_t size = 0;  // bytes that the program asked for; between allocations there are guard zones
  MemoryKind kind{};
  bool live = true;       // false once freed; kept, so that a use after free can be named
  std::string label;      // a variable's name, or "allocation 3 (1024 bytes)"
  std::uint64_t died = 0; // changes() when it was freed
  std::uint64_t origin =
      0;          // where its elements are counted from: `begin` plus the bytes that the program skipped
  int device = 0; // that counts it as used
  bool is_reusable = true;    // its addresses, once it has been freed
  PoolAccess* pool = nullptr; // who may access it, if it comes from a pool
  std::uint64_t end() const { return begin + size; }
};

// Allocations never touch: at least `guard_bytes` that belong to none lie between any two, and a freed
// address is handed out again only once many more bytes have been freed (`quarantine_bytes`). Safe to call
// from several threads.
class AddressSpace {
public:
  static constexpr std::uint64_t alignment = 512;    // cudaMalloc promises 256; textures need more
  static constexpr std::uint64_t guard_bytes = 4096; // a word for each thread of a block

  // `capacity` bytes are shared out evenly among the devices; allocating more throws std::bad_alloc.
  explicit AddressSpace(std::uint64_t capacity, int devices = 1);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // Shares the range out among so many devices. False once there are allocations.
  bool share_out(int devices);
  int devices() const { return devices_; }

  // `device`: whose memory it is; pinned and managed memory belongs to no device, but counts as used there.
  void* allocate(std::uint64_t size, MemoryKind kind, std::string label, int device = 0);
  // Of large arrays from now on, as where only a few blocks of a grid run.
  void expect_few_writes(bool few) { few_writes_ = few; }
  // Memory for a managed variable: like other variables, but it belongs to no device.
  void* allocate_shared_variable(std::uint64_t size, std::string label);
  // The device that the address belongs to; no_device for all other memory.
  int owner(std::uint64_t address) const {
    const std::uint64_t part = (address - base_) / part_bytes_;
    return part < static_cast<std::uint64_t>(devices_) ? static_cast<int>(part) : no_device;
  }
  // Makes the host's own memory reachable from kernels (cudaHostRegister). False if it overlaps something
  // known.
  bool add_registered(void* begin, std::uint64_t size);
  // Frees what `allocate` or `add_registered` returned. False if `begin` is not the start of a live
  // allocation.
  bool release(void* begin);
  // Keeps the addresses of an allocation out of use once it has been freed: another process may still use
  // them.
  void never_reuse(std::uint64_t begin);
  // The live allocation that begins there comes from a pool; `access` outlives all memory.
  void is_of_pool(const void* begin, PoolAccess& access);
  // Gives this name to the live allocation that contains `begin`, and counts its elements from there.
  void name(const void* begin, const std::string& name);

  std::optional<Allocation> find(std::uint64_t address) const; // the live allocation that holds the address
  // For an address in no live allocation: the gap around it, as [begin, end). It remains a gap until
  // changes() differs.
  std::pair<std::uint64_t, std::uint64_t> hole_around(std::uint64_t address) const;
  // Whether memory has been allocated since changes() had this value.
  bool allocated_since(std::uint64_t moment) const {
    return last_allocation_.load(std::memory_order_relaxed) > moment;
  }
  std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }
  std::optional<Allocation>
  nearest(std::uint64_t address) const; // live or freed, the closest one, for reports
  // True for every address that the device could ever hand out, live or not; never for the host's own memory.
  bool reserves(std::uint64_t address) const { return address - base_ < reserved_; }
  // Closes the device's own memory to every thread of this process, or opens it again.
  void guard(bool guarded);
  void open_to_host(); // and what is freed too
  // Whether the address is in the range of such memory. Takes no lock, so a signal handler may call it.
  bool is_of_device_alone(std::uint64_t address) const;
  // The live allocations that the host may access too, except variables.
  std::uint64_t of_host() const { return of_host_.load(std::memory_order_relaxed); }
  std::uint64_t capacity() const { return capacity_ / static_cast<std::uint64_t>(devices_); } // of one device
  std::uint64_t base() const { return base_; }         // the reserved range, registered memory apart
  std::uint64_t reserved() const { return reserved_; } // bytes
  std::uint64_t used(int device) const;                // bytes in live device and managed allocations
  // Calls `visit(const Allocation&)` for each live allocation of the kind, in the order of their addresses.
  template <typename Visit>
  void each_live(MemoryKind kind, Visit visit) const {
    std::lock_guard lock(mutex_);
    for (const auto& [begin, allocation] : allocations_)
      if (allocation.live && allocation.kind == kind) visit(allocation);
  }

private:
  using Allocations = std::map<std::uint64_t, Allocation>; // by first address
  // A device's part of the range, or the one that belongs to none.
  struct Part {
    std::uint64_t begin = 0, end = 0;
    std::multimap<std::uint64_t, std::uint64_t> holes, upper_holes; // size of a hole -> its first address
    // What large allocations leave when they are freed, until their addresses are used again: begin -> end.
    std::map<std::uint64_t, std::uint64_t> closed;
    // The end of the memory for the device alone, and the beginning of the remainder.
    std::atomic<std::uint64_t> top = 0;
    std::uint64_t bottom = 0;
    std::uint64_t used = 0;
  };
  mutable std::mutex mutex_;
  Allocations allocations_;
  std::map<std::uint64_t, std::uint64_t> quarantine_; // order of freeing -> address
  std::uint64_t base_ = 0, reserved_ = 0, capacity_ = 0, part_bytes_ = 0, freed_count_ = 0, quarantined_ = 0;
  int devices_ = 1;
  Part parts_[most_devices + 1];
  std::atomic<bool> few_writes_{false};
  bool is_guarded_ = false;
  std::atomic<std::uint64_t> of_host_ = 0;
  std::atomic<std::uint64_t> last_allocation_ = 0; // changes() after it
  std::atomic<std::uint64_t> changes_ = 0;         // allocations and releases so far
  // The live allocation that holds the address, or the end.
  Allocations::const_iterator holding(std::uint64_t address) const;
  void* allocate_in(Part& part, Part& counted_in, std::uint64_t size, MemoryKind kind, std::string label);
  Part& part_of(std::uint64_t address);
  Part& shared_part() { return parts_[devices_]; }
  void give_back_oldest();
  void set_rights(Part& part, bool readable);
  static void set_rights(std::uint64_t begin, std::uint64_t end, bool readable);
  void close(const Allocation& freed);
  void open(Part& part, std::uint64_t begin, std::uint64_t end); // the first of a hole, which is used again
};

} // namespace warpfold::machine
