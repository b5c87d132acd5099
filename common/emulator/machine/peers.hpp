// Several devices: who may reach whose memory, and what goes over the links between them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace warpfold::machine {

inline constexpr int most_devices = 16;
inline constexpr int no_device = -1; // the owner of the host's memory, and of memory that all devices share

// Which devices have been given access to which others' memory (cudaDeviceEnablePeerAccess). Safe to use from
// several threads.
class PeerAccess {
public:
  bool allows(int device, int owner) const {
    return device == owner || owner == no_device || pair(device, owner).load(std::memory_order_relaxed);
  }
  // Returns whether it was allowed before.
  bool allow(int device, int owner, bool allowed) { return pair(device, owner).exchange(allowed); }

private:
  using Pair = std::atomic<bool>;
  const Pair& pair(int device, int owner) const {
    return allowed_[static_cast<unsigned>(device)][static_cast<unsigned>(owner)];
  }
  Pair& pair(int device, int owner) {
    return allowed_[static_cast<unsigned>(device)][static_cast<unsigned>(owner)];
  }
  std::array<std::array<Pair, most_devices>, most_devices> allowed_{};
};

// The devices that may access the memory of a pool (cudaMemPoolSetAccess), whatever access they have been
// given otherwise, and how much of it is in use. Safe to use from several threads.
class PoolAccess {
public:
  explicit PoolAccess(int owner) : devices_(bit(owner)) {}
  void allocated(std::uint64_t bytes) {
    const std::uint64_t now = used_ += bytes;
    for (std::uint64_t high = high_; now > high && !high_.compare_exchange_weak(high, now);) {
    }
  }
  void freed(std::uint64_t bytes) { used_ -= bytes; }
  std::uint64_t used() const { return used_; }
  std::uint64_t most_used() const { return high_; } // since the last reset
  void reset_most_used() { high_ = used_.load(); }
  bool allows(int device) const { return devices_.load(std::memory_order_relaxed) & bit(device); }
  void allow(int device, bool allowed) {
    allowed ? devices_.fetch_or(bit(device)) : devices_.fetch_and(~bit(device));
  }

private:
  static constexpr std::uint32_t bit(int device) { return 1u << static_cast<unsigned>(device); }
  std::atomic<std::uint32_t> devices_;
  std::atomic<std::uint64_t> used_ = 0, high_ = 0;
};

// Sectors of 32 bytes that a launch moved over links, by the device that owns the memory. An atomic counts as
// a store: its operand goes to the owner, which carries it out.
struct LinkTraffic {
  std::array<std::uint64_t, most_devices> load_sectors{}, store_sectors{};

  LinkTraffic& operator+=(const LinkTraffic& other) {
    for (unsigned i = 0; i < most_devices; ++i)
      load_sectors[i] += other.load_sectors[i], store_sectors[i] += other.store_sectors[i];
    return *this;
  }
};

} // namespace warpfold::machine
