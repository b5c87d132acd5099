// The watcher behind WARPFOLD_TRACE: what one block of each launch does to memory, request by request, as
// JSON for pictures (common/kit/trace/steps.py reads it).
#pragma once

#include "machine/watcher.hpp"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace warpfold::watch {

// Records the block with this number in the first launches since the start or the last `reset`. Launches come
// one after another, and a block's events come from one thread, so only `reset` and `json` need the lock.
class Tracer final : public machine::Watcher {
public:
  // A picture of more steps would be useless; the JSON says if something is left out ("truncated").
  static constexpr std::size_t most_launches = 16, most_requests = 20000;

  Tracer(const machine::AddressSpace& memory, std::uint64_t block) : memory_(memory), wanted_block_(block) {}
  void reset();
  std::string json() const;

  void launch_begin(const machine::Grid&) override;
  void launch_end(const machine::Grid&) override;
  void block_begin(const machine::Block&) override {}
  void block_end(const machine::Block&) override {}
  void access(const machine::Access&) override;
  void bad_access(const machine::Warp&, const machine::Operation&, const machine::Fault&) override {}
  void fence(const machine::Warp&, const machine::Operation&, machine::MemoryScope) override {}
  void barrier(const machine::Block&, const machine::Operation&, unsigned barrier, bool whole_block) override;
  void warp_barrier(const machine::Warp&, const machine::Operation&, std::uint32_t members) override;
  void notice(const machine::Warp&, const machine::Operation&, machine::Notice, std::uint32_t,
              const machine::Operation*) override {}

private:
  // A variable in shared memory or an allocation: elements are counted from its beginning.
  struct Array {
    std::string name;
    bool shared = true;
    std::uint64_t begin = 0, size = 0; // bytes; of shared variables, offsets in the block's shared memory
  };
  struct Launch {
    std::string heading; // the members that are known at the start
    std::string events;  // the members of the array, separated by commas
    std::vector<Array> arrays;
    std::size_t requests = 0;
    bool truncated = false;
  };
  bool looks_on(const machine::Block& block) const;
  bool has_room();
  int array_of(const machine::Access& access, std::uint64_t address);
  std::string place_of(const machine::Operation& operation) const; // the members "file" and "line"
  void add_event(const std::string& members);

  const machine::AddressSpace& memory_;
  std::uint64_t wanted_block_;
  mutable std::mutex mutex_;
  std::vector<Launch> launches_;
  bool left_out_ = false;               // there were launches beyond the number that is recorded
  const machine::Grid* grid_ = nullptr; // of the launch that is being recorded
};

} // namespace warpfold::watch
