// Which bytes of global memory a launch reads and writes. This watcher sits in front of another one and
// passes every event on.
#pragma once

#include "host_order.hpp"
#include "machine/address_space.hpp"
#include "machine/lazy_array.hpp"
#include "machine/watcher.hpp"

#include <mutex>
#include <vector>

namespace warpfold::analysis {

class TouchedMemory final : public machine::Watcher {
public:
  explicit TouchedMemory(const machine::AddressSpace& memory);
  void stand_before(machine::Watcher* next) { next_ = next; }
  // What was accessed since the last call, sorted by address; the caller fills in TouchedRange::of_host.
  // Where very many places were accessed, those on neighbouring pages become one range that is not exact.
  std::vector<TouchedRange> take();

  void launch_begin(const machine::Grid& grid) override { next_->launch_begin(grid); }
  void launch_end(const machine::Grid& grid) override { next_->launch_end(grid); }
  void block_begin(const machine::Block& block) override { next_->block_begin(block); }
  void block_end(const machine::Block& block) override { next_->block_end(block); }
  void access(const machine::Access& access) override;
  bool row(const machine::RowAccess& access) override;
  void bad_access(const machine::Warp& warp, const machine::Operation& operation,
                  const machine::Fault& fault) override {
    next_->bad_access(warp, operation, fault);
  }
  void fence(const machine::Warp& warp, const machine::Operation& operation,
             machine::MemoryScope scope) override {
    next_->fence(warp, operation, scope);
  }
  void barrier(const machine::Block& block, const machine::Operation& operation, unsigned barrier,
               bool whole_block) override {
    next_->barrier(block, operation, barrier, whole_block);
  }
  void warp_barrier(const machine::Warp& warp, const machine::Operation& operation,
                    std::uint32_t members) override {
    next_->warp_barrier(warp, operation, members);
  }
  void has_read(const machine::Warp& warp) override { next_->has_read(warp); }
  void copy_begins(const machine::Warp& warp, const machine::Operation& operation,
                   const std::uint64_t* offsets, std::uint32_t width) override {
    next_->copy_begins(warp, operation, offsets, width);
  }
  void copies_committed(const machine::Warp& warp) override { next_->copies_committed(warp); }
  void copies_waited_for(const machine::Warp& warp, std::uint32_t groups_left) override {
    next_->copies_waited_for(warp, groups_left);
  }
  void cluster_arrive(const machine::Warp& warp, const machine::Operation& operation,
                      bool releases) override {
    next_->cluster_arrive(warp, operation, releases);
  }
  void cluster_barrier(const machine::Cluster& cluster, const machine::Operation& operation) override {
    next_->cluster_barrier(cluster, operation);
  }
  void cluster_wait(const machine::Warp& warp, const machine::Operation& operation) override {
    next_->cluster_wait(warp, operation);
  }
  void completes(const machine::Warp& warp, const machine::Operation& operation, std::uint32_t lanes,
                 const std::uint64_t* barriers) override {
    next_->completes(warp, operation, lanes, barriers);
  }
  void notice(const machine::Warp& warp, const machine::Operation& operation, machine::Notice what,
              std::uint32_t lanes, const machine::Operation* other) override {
    next_->notice(warp, operation, what, lanes, other);
  }

private:
  static constexpr unsigned touches = 4;
  using Bits = machine::LazyArray<std::uint64_t>;
  void note(std::uint64_t begin, std::uint64_t size, Touch touch);
  void enter_page(std::uint64_t page);
  void take_page(std::uint64_t page, unsigned touch, std::vector<TouchedRange>& ranges);

  const machine::AddressSpace& memory_;
  std::uint64_t base_, reserved_;
  machine::LazyArray<std::uint8_t> seen_; // by page: is it in `pages_`?
  Bits bytes_[touches];                   // by Touch, one bit per byte
  machine::Watcher* next_ = nullptr;
  std::mutex mutex_; // protects what follows
  std::vector<std::uint64_t> pages_;
  std::vector<TouchedRange> elsewhere_; // registered memory outside of the device's range
};

} // namespace warpfold::analysis
