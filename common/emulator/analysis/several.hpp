// Several watchers that act as one.
#pragma once

#include "machine/watcher.hpp"

#include <utility>
#include <vector>

namespace warpfold::analysis {

class Several final : public machine::Watcher {
public:
  explicit Several(std::vector<machine::Watcher*> watchers) : watchers_(std::move(watchers)) {}

  void launch_begin(const machine::Grid& grid) override {
    for (auto* each : watchers_) each->launch_begin(grid);
  }
  void launch_end(const machine::Grid& grid) override {
    for (auto* each : watchers_) each->launch_end(grid);
  }
  void block_begin(const machine::Block& block) override {
    for (auto* each : watchers_) each->block_begin(block);
  }
  void block_end(const machine::Block& block) override {
    for (auto* each : watchers_) each->block_end(block);
  }
  void access(const machine::Access& access) override {
    for (auto* each : watchers_) each->access(access);
  }
  void has_read(const machine::Warp& warp) override {
    for (auto* each : watchers_) each->has_read(warp);
  }
  void bad_access(const machine::Warp& warp, const machine::Operation& operation,
                  const machine::Fault& fault) override {
    for (auto* each : watchers_) each->bad_access(warp, operation, fault);
  }
  void fence(const machine::Warp& warp, const machine::Operation& operation,
             machine::MemoryScope scope) override {
    for (auto* each : watchers_) each->fence(warp, operation, scope);
  }
  void copy_begins(const machine::Warp& warp, const machine::Operation& operation,
                   const std::uint64_t* offsets, std::uint32_t width) override {
    for (auto* each : watchers_) each->copy_begins(warp, operation, offsets, width);
  }
  void copies_committed(const machine::Warp& warp) override {
    for (auto* each : watchers_) each->copies_committed(warp);
  }
  void copies_waited_for(const machine::Warp& warp, std::uint32_t groups_left) override {
    for (auto* each : watchers_) each->copies_waited_for(warp, groups_left);
  }
  void bulk_read_begins(const machine::Warp& warp, const machine::Operation& operation, unsigned lane,
                        std::uint64_t offset, std::uint32_t bytes, bool in_group) override {
    for (auto* each : watchers_) each->bulk_read_begins(warp, operation, lane, offset, bytes, in_group);
  }
  void bulk_write_begins(const machine::Warp& warp, const machine::Operation& operation, unsigned lane,
                         std::uint64_t offset, std::uint32_t bytes, std::uint64_t mbarrier,
                         std::uint32_t phase) override {
    for (auto* each : watchers_)
      each->bulk_write_begins(warp, operation, lane, offset, bytes, mbarrier, phase);
  }
  void bulk_committed(const machine::Warp& warp) override {
    for (auto* each : watchers_) each->bulk_committed(warp);
  }
  void bulk_waited_for(const machine::Warp& warp, std::uint32_t groups_left) override {
    for (auto* each : watchers_) each->bulk_waited_for(warp, groups_left);
  }
  void phases_seen(const machine::Warp& warp, std::uint32_t lanes, std::uint64_t mbarrier,
                   std::uint32_t phase) override {
    for (auto* each : watchers_) each->phases_seen(warp, lanes, mbarrier, phase);
  }
  void proxy_fence(const machine::Warp& warp, const machine::Operation& operation) override {
    for (auto* each : watchers_) each->proxy_fence(warp, operation);
  }
  void barrier(const machine::Block& block, const machine::Operation& operation, unsigned barrier,
               bool whole_block) override {
    for (auto* each : watchers_) each->barrier(block, operation, barrier, whole_block);
  }
  void warp_barrier(const machine::Warp& warp, const machine::Operation& operation,
                    std::uint32_t members) override {
    for (auto* each : watchers_) each->warp_barrier(warp, operation, members);
  }
  void cluster_arrive(const machine::Warp& warp, const machine::Operation& operation,
                      bool releases) override {
    for (auto* each : watchers_) each->cluster_arrive(warp, operation, releases);
  }
  void cluster_barrier(const machine::Cluster& cluster, const machine::Operation& operation) override {
    for (auto* each : watchers_) each->cluster_barrier(cluster, operation);
  }
  void cluster_wait(const machine::Warp& warp, const machine::Operation& operation) override {
    for (auto* each : watchers_) each->cluster_wait(warp, operation);
  }
  void completes(const machine::Warp& warp, const machine::Operation& operation, std::uint32_t lanes,
                 const std::uint64_t* barriers) override {
    for (auto* each : watchers_) each->completes(warp, operation, lanes, barriers);
  }
  void notice(const machine::Warp& warp, const machine::Operation& operation, machine::Notice what,
              std::uint32_t lanes, const machine::Operation* other) override {
    for (auto* each : watchers_) each->notice(warp, operation, what, lanes, other);
  }

private:
  std::vector<machine::Watcher*> watchers_;
};

} // namespace warpfold::analysis
