#include "standstill.hpp"

#include "block.hpp"

#include <bit>
#include <cstring>
#include <span>
#include <type_traits>

namespace warpfold::machine {
namespace {

class Hash {
public:
  void add_bytes(std::span<const std::byte> bytes) {
    std::uint64_t word = 0;
    for (; bytes.size() >= sizeof word; bytes = bytes.subspan(sizeof word)) {
      std::memcpy(&word, bytes.data(), sizeof word);
      mix(word);
    }
    word = 0;
    if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size()); // of nothing, the place may be null
    mix(word);
  }
  template <typename... T>
  void add(T... values) {
    (mix(static_cast<std::uint64_t>(values)), ...);
  }
  void add_place(const void* place) { mix(reinterpret_cast<std::uintptr_t>(place)); }
  Digest digest() const { return {first_, second_}; }

private:
  // Steps of two independent multiplicative hashes, with odd constants (the golden ratio; SplitMix64).
  void mix(std::uint64_t word) {
    first_ = std::rotl((first_ ^ word) * 0x9e3779b97f4a7c15ull, 29);
    second_ = (second_ + word) * 0xbf58476d1ce4e5b9ull;
    second_ ^= second_ >> 31;
  }
  std::uint64_t first_ = 1, second_ = 2;
};

void add(Hash& hash, const Warp& warp, const Code& code) {
  hash.add(warp.alive, warp.carry, warp.kept_apart, warp.paths.size(), warp.cluster_arrived,
           warp.cluster_released);
  hash.add_bytes({warp.kernel_frame, code.frames.front().bytes});
  hash.add_bytes({warp.local_memory, std::size_t{warp_lanes} * warp.worker->local_stride});
  for (const DivergentPath& path : warp.paths) {
    hash.add(path.mask, path.reconvergence, path.local_base, path.frame_index, path.state, path.barrier,
             path.rendezvous);
    hash.add_place(path.next), hash.add_place(path.frame);
  }
  for (const ReconvergencePoint& point : warp.reconvergence_points) {
    hash.add_place(point.at);
    if (!point.at) continue;
    hash.add(point.expected, point.arrived, point.parent, point.local_base, point.frame_index,
             point.callee_index);
    hash.add_place(point.frame), hash.add_place(point.call);
    hash.add_bytes(point.callee_frame);
  }
  for (const Rendezvous& met : warp.rendezvouses) {
    hash.add(met.members);
    if (met.members == 0) continue;
    hash.add(met.arrived, met.collected, met.complete);
    hash.add_bytes(std::as_bytes(std::span(met.values)));
  }
}

} // namespace

Digest digest_of(const Block& block) {
  Hash hash;
  for (const Warp& warp : block.warps)
    if (!warp.done()) add(hash, warp, block.worker.grid.code);
  for (const Barrier& barrier : block.barriers) {
    hash.add(barrier.arrived, barrier.waiting, barrier.expected, barrier.population,
             barrier.result_population, barrier.result_threads);
    hash.add_place(barrier.first);
  }
  return hash.digest();
}

bool Recurrence::meets(std::uint64_t now, const Digest& digest) {
  if (period != now) {
    *this = {.period = now, .seen = digest, .others = 0, .limit = 1, .found = false};
    return false;
  }
  if (found) return false;
  if (digest == seen) return found = true;
  if (++others == limit) seen = digest, limit *= 2, others = 0;
  return false;
}

namespace {
// A launch that moves is looked at again after so long: to compare stores takes time.
constexpr std::chrono::milliseconds between_looks{500};
} // namespace

void Standstill::begin_period(Clock::time_point now) {
  ++period_;
  blocks_that_recur_ = 0;
  since_ = now;
}

void Standstill::ends() {
  if (!looks_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  begin_period(Clock::now());
}

bool Standstill::continues(Grid& grid, Block& block, bool moves, bool& compares) {
  const Clock::time_point now = Clock::now();
  if (!looks_.load(std::memory_order_relaxed) && now < grid.begin + between_looks) return false;
  const bool did_compare = compares;
  std::lock_guard lock(mutex_);
  if (!looks_) {
    if (now < next_look_) return compares = false;
    looks_ = compares = true;
    begin_period(now);
    return false;
  }
  compares = true;
  if (moves) {
    begin_period(now);
    if (!did_compare) return false; // it may have stored what was there
    looks_ = compares = false;
    next_look_ = now + between_looks;
    return false;
  }
  blocks_that_recur_ += block.recurrence.meets(period_, digest_of(block));
  const std::uint64_t all = grid.blocks_to_run(), begun = std::min<std::uint64_t>(grid.next_block, all);
  // A GPU starts blocks in the order of their numbers; in another order, it might have started some that wait
  // here.
  if (begun != all && grid.schedule.order != Schedule::Order::forwards) return false;
  return blocks_that_recur_ == begun - grid.blocks_done && now - since_ >= grid.patience;
}

} // namespace warpfold::machine
