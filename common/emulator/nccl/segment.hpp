// A communicator's shared memory as one of its ranks sees it.
#pragma once

#include "call_site.hpp"
#include "shared.hpp"

#include <memory>
#include <span>
#include <string>

namespace warpfold::nccl {

class Segment {
public:
  // Opens the segment of that name, or creates it. Throws std::runtime_error if there is no room for it.
  // Whether all ranks agree on the size is for the caller to see: shared().size.
  Segment(const std::string& name, int size, int rank);
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const std::string& name() const { return name_; }
  int size() const { return size_; }
  int rank() const { return rank_; }

  Shared& shared() { return *reinterpret_cast<Shared*>(base_); }
  Rank& of(int rank);
  Rank& own() { return of(rank_); }
  Channel& channel(int from, int to);

  // Pieces of data: in collectives, each rank has two slots, used in turn; between two ranks there is one
  // each way.
  std::size_t slot_bytes() const { return slot_bytes_; }
  std::size_t channel_bytes() const { return channel_bytes_; }
  std::byte* slot(int rank, std::uint64_t piece);
  std::byte* channel_slot(int from, int to);

  // Wakes all who wait.
  void ring();
  // Waits for the bell, unless it has rung since it was `heard`, but for a tenth of a second at most.
  void wait_for_bell(std::uint32_t heard);

  bool has_failed() { return shared().has_failed.load() == 2; }

  // No rank can find it by its name any more; those that have it keep it.
  void unlink();

  // Of this process alone: the frames of a site in memory, and of a call in memory as a site.
  void keep(Call& call, const CallSite& site);
  CallSite site(int rank, const Call& call);

  void note(NotedCall& where, const Call& call);
  Call noted(NotedCall& where);

private:
  std::string name_;
  int size_ = 0, rank_ = 0;
  std::size_t bytes_ = 0, slot_bytes_ = 0, channel_bytes_ = 0, channels_at_ = 0, slots_at_ = 0,
              channel_slots_at_ = 0;
  std::shared_ptr<std::byte> memory_; // all ranks of a process see it at the same place
  std::byte* base_ = nullptr;
};

// A name that is not taken.
std::string new_segment_name();

} // namespace warpfold::nccl
