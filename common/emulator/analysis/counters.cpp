#include "counters.hpp"

#include "machine/coalescing.hpp"
#include "machine/code.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace warpfold::analysis {

namespace {

using machine::MemoryOrder;
using machine::OperationCounters;
using machine::Work;

// A strong load may poll what others write, and how often it does depends on who came first.
bool is_weak(const machine::Operation& load) {
  return static_cast<MemoryOrder>(load.order) == MemoryOrder::weak;
}

// An operation whose counts go to a line and to the launch.
struct Charged {
  const machine::Operation& operation;
  const machine::OperationFacts& facts;
  std::string_view name; // "ld.global.f32"
};

// A generic access is charged to the space that its addresses point to.
bool went_to_shared(const OperationCounters& did) {
  return did.wavefronts > 0;
}

// A load that tells the caches that nothing will be read there again (__ldcs, __ldlu).
bool is_last_use(std::string_view name) {
  return name.find(".cs") != name.npos || name.find(".lu") != name.npos;
}

void charge_cluster(Counters& to, const Charged& one, const OperationCounters& did) {
  const bool copies = one.name.starts_with("cp."); // to other blocks, never from them
  const bool loads = one.facts.work == Work::load && !copies;
  (loads ? to.dsmem_load_requests : to.dsmem_store_requests) += did.dsmem_requests;
  to.dsmem_bytes += did.dsmem_bytes;
  if (one.facts.work == Work::atomic && did.requests == 0) { // else charge_memory() counts all its lanes
    to.atomic_operations += did.lanes;
    if (one.name.ends_with(".f32") || one.name.ends_with(".f64")) to.float_atomics += did.lanes;
  }
  if (one.facts.work == Work::atomic) to.atomic_requests += did.dsmem_requests;
}

void charge_memory(Counters& to, const Charged& one, const OperationCounters& did) {
  to.bank_conflicts += did.wavefronts - did.ideal_wavefronts;
  if (one.facts.work == Work::atomic) {
    to.atomic_requests += did.requests;
    to.atomic_operations += did.lanes;
    if (one.name.find(".exch.") != one.name.npos) to.atomic_exchanges += did.lanes;
    to.first_thread_updates += did.first_threads;
    if (one.name.ends_with(".f32") || one.name.ends_with(".f64")) to.float_atomics += did.lanes;
    to.peer_store_requests += did.peer_requests;
    to.peer_store_sectors += did.peer_sectors;
    to.bytes_written += did.bytes;
  } else if (one.facts.work == Work::store) {
    (went_to_shared(did) ? to.shared_store_requests : to.global_store_requests) += did.requests;
    to.shared_store_wavefronts += did.wavefronts;
    if (went_to_shared(did)) to.shared_stores += did.lanes;
    to.first_thread_updates += did.first_threads;
    to.own_place_stores += did.own_places;
    to.global_store_sectors += did.sectors;
    to.peer_store_requests += did.peer_requests;
    to.peer_store_sectors += did.peer_sectors;
    to.bytes_written += did.bytes;
  } else {
    (went_to_shared(did) ? to.shared_load_requests : to.global_load_requests) += did.requests;
    to.shared_load_wavefronts += did.wavefronts;
    to.global_load_sectors += did.sectors;
    // How often an mbarrier is asked depends on who came first.
    if (went_to_shared(did) && one.facts.work == Work::load) to.shared_loads += did.lanes;
    if (is_weak(one.operation) && !went_to_shared(did)) {
      to.weak_load_sectors += did.sectors;
      to.weak_load_requests += did.requests;
      if (one.facts.begins_wait) to.weak_load_waits += did.requests;
    }
    to.peer_load_requests += did.peer_requests;
    to.peer_load_sectors += did.peer_sectors;
    to.bytes_read += did.bytes;
    if (is_last_use(one.name)) to.last_use_bytes_read += did.bytes;
    if (one.facts.begins_wait && !went_to_shared(did)) to.global_load_waits += did.requests;
  }
}

void charge_instruction(Counters& to, const Charged& one, const OperationCounters& did) {
  to.warp_instructions += did.warps;
  to.thread_instructions += did.threads;
  if (one.name.starts_with("cp.async.bulk.wait_group") && one.operation.e == 0)
    to.bulk_waits_for_all += did.lanes;
  switch (one.facts.work) {
  case Work::shuffle:
    to.shuffles += did.warps;
    break;
  case Work::warp_reduction:
    to.warp_reductions += did.warps;
    break;
  case Work::matrix:
    to.matrix_operations += did.warps;
    break;
  case Work::vote:
  case Work::memory_barrier:
    to.votes += did.warps;
    break;
  case Work::barrier:
    if (one.facts.is_repeated) to.repeated_warp_barriers += did.warps;
    if (one.name.find(".warp.") != one.name.npos) // __syncwarp()
      to.warp_barriers += did.warps, to.warp_barrier_arrivals += did.threads;
    else
      to.barrier_arrivals += did.warps;
    // One that counts threads can add up anything, bit by bit.
    if (one.name.find(".red.popc") != one.name.npos) to.votes += did.warps;
    break;
  case Work::fence:
    to.fences += did.warps;
    break;
  case Work::arithmetic:
    if (one.name.ends_with(".f64")) to.double_instructions += did.warps;
    if (one.name.starts_with("add.") && one.name.ends_with(".f32")) to.float_additions += did.threads;
    break;
  default:
    break;
  }
}

void charge(Counters& to, const Charged& one, const OperationCounters& did) {
  if (one.facts.is_instruction) charge_instruction(to, one, did);
  if (one.facts.work == Work::branch) {
    to.branches += did.requests;
    to.divergent_branches += did.divergent;
  } else if (one.facts.work == Work::barrier) {
    to.barriers += did.requests;
  } else if (one.facts.work == Work::texture) {
    to.texture_requests += did.requests;
  } else if (one.facts.work == Work::surface) {
    to.surface_requests += did.requests;
  } else {
    if (did.requests && !one.facts.is_printed) charge_memory(to, one, did);
    if (did.dsmem_requests) charge_cluster(to, one, did);
  }
}

} // namespace

Counters& Counters::operator+=(const Counters& other) {
#define COUNTED(key, ...) key += other.key;
#define COUNTED_PER_LAUNCH(...)
#define COUNTED_PER_LINE(...)
#define COUNTED_MOST(...)
#define RATIO(...)
#include "counted.def"
#undef COUNTED
#undef COUNTED_PER_LAUNCH
#undef COUNTED_PER_LINE
#undef COUNTED_MOST
#undef RATIO
  return *this;
}

namespace {

// Of the loads that a wait begins with, and those that join it in the text: how often a thread polls depends
// on who came first, but not how many it has in flight.
std::uint64_t most_strong_loads(const machine::Code& code, const machine::LaunchRecord& record) {
  std::uint64_t most = 0, here = 0;
  bool runs = false;
  for (std::size_t i = 0; i < code.operations.size(); ++i) {
    const machine::OperationFacts& facts = code.facts[i];
    if (facts.work != Work::load || is_weak(code.operations[i])) continue;
    if (facts.begins_wait) here = 0, runs = record.counters[i].requests != 0;
    if (runs) most = std::max(most, ++here);
  }
  return most;
}

} // namespace

LaunchTotals totals_of(const machine::LaunchRecord& record) {
  const machine::Code& code = const_cast<machine::Kernel*>(record.source)->code();
  const bool uses_grid_size = std::ranges::any_of(code.frames, [](const machine::Frame& frame) {
    return std::ranges::any_of(frame.specials, [](const machine::SpecialRow& special) {
      return special.name == ptx::Special::nctaid;
    });
  });
  const std::uint64_t warps_per_block =
      (record.shape.block.count() + machine::warp_lanes - 1) / machine::warp_lanes;
  return {record.blocks, record.blocks * warps_per_block, uses_grid_size ? 1u : 0u,
          most_strong_loads(code, record), record.busiest};
}

LaunchCounters count(const machine::LaunchRecord& record) {
  LaunchCounters result;
  const machine::Code& code = const_cast<machine::Kernel*>(record.source)->code();
  std::map<std::pair<std::uint32_t, std::uint32_t>, LineCounters> by_line; // file and line
  for (std::size_t i = 0; i < code.operations.size(); ++i) {
    const OperationCounters& did = record.counters[i];
    if (did.warps == 0 && did.requests == 0) continue;
    const ptx::Location& at = code.module->locations[code.operations[i].location];
    const Charged one{code.operations[i], code.facts[i], code.names[i]};
    charge(result.total, one, did);
    LineCounters& line = by_line[{at.file, at.line}];
    charge(line.counters, one, did);
    if (one.facts.is_instruction) line.executions = std::max(line.executions, did.warps);
  }
  for (auto& [place, line] : by_line) {
    line.line = {std::string(code.module->files[place.first]), place.second};
    result.lines.push_back(line);
  }
  return result;
}

} // namespace warpfold::analysis
