#include "warp.hpp"

#include "block.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace warpfold::machine {

namespace {

constexpr std::uint32_t slice_length = 1u << 18; // backward branches
// Of a warp that has only waited in its last slice: a look or two, and then others get their turn.
constexpr std::uint32_t slice_while_waiting = 2 * global_spin_cost;

// Copies one lane's value of a parameter or result slot from one frame to another.
void copy_slot(const Warp& warp, std::byte* to, const Frame::Slot& to_slot, const std::byte* from,
               const Frame::Slot& from_slot, std::uint32_t mask) {
  std::uint32_t width = std::min(to_slot.width, from_slot.width);
  for (; mask; mask &= mask - 1) {
    unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
    std::byte* const into = to + to_slot.row + lane * to_slot.width;
    const std::byte* const out_of = from + from_slot.row + lane * from_slot.width;
    std::memcpy(into, out_of, width);
    if (warp.followed) warp.worker->grid.watcher->carried(warp, into, out_of, width);
  }
}

// Reads the slots that a call operation lists: their number, then the row and width of each.
std::vector<Frame::Slot> listed_slots(const Code& code, std::uint32_t& position) {
  std::vector<Frame::Slot> slots(code.lists[position++]);
  for (Frame::Slot& slot : slots) {
    slot.row = code.lists[position++];
    slot.width = code.lists[position++];
  }
  return slots;
}

} // namespace

void Warp::start(std::uint32_t active, const Operation* entry) {
  alive = active;
  carry = 0;
  cluster_arrived = cluster_released = has_bulk_groups = 0;
  reconvergence = rendezvous = -1;
  reconvergence_at = nullptr;
  reconvergence_points.clear();
  rendezvouses.clear();
  paths.clear();
  paths.push_back({.next = entry, .frame = kernel_frame, .mask = active});
}

void Warp::load(const DivergentPath& path) {
  frame = path.frame;
  local_base = path.local_base;
  frame_index = path.frame_index;
  rendezvous = path.rendezvous;
  set_reconvergence(path.reconvergence);
  set_mask(path.mask);
}

void Warp::save(const Operation* next, DivergentPath::State state) {
  paths.push_back({.next = next,
                   .frame = frame,
                   .mask = mask,
                   .reconvergence = reconvergence,
                   .local_base = local_base,
                   .frame_index = frame_index,
                   .state = state,
                   .rendezvous = rendezvous});
}

bool Warp::has_ready_path() const {
  return std::any_of(paths.begin(), paths.end(),
                     [](const DivergentPath& path) { return path.state == DivergentPath::State::ready; });
}

const Operation* Warp::next_path() {
  for (std::size_t i = paths.size(); i-- > 0;) {
    if (paths[i].state != DivergentPath::State::ready) continue;
    DivergentPath path = paths[i];
    paths.erase(paths.begin() + static_cast<std::ptrdiff_t>(i));
    load(path);
    return path.next;
  }
  mask = 0;
  return nullptr;
}

bool Warp::run() {
  const Operation* op = next_path();
  if (!op) return false;
  slice = waits_for_memory() ? slice_while_waiting : slice_length;
  spins = polls = changes = false;
  missing_arrivals = 0, missing_bytes = 0;
  if (followed) {
    while (op) op = run_followed(op);
  } else if (worker->grid.schedule.alternates) {
    while (op && !spins) op = op->run(*this, op);
    if (op) slice = 0, slice_over(op);
  } else {
    while (op) op = op->run(*this, op);
  }
  worker->looked |= spins;
  return true;
}

// One operation. It has been executed if the path goes on with the next one; otherwise it waits, and is
// executed later.
const Operation* Warp::run_followed(const Operation* op) {
  const std::uint32_t active = mask;
  const std::uint32_t guarded =
      op->guarded ? *row<std::uint32_t>(op->guard) ^ (op->guard_negated ? all_lanes : 0) : all_lanes;
  const std::byte* const own = frame;
  const ValueFlow* const flow = worker->grid.code.flow(*op);
  if (flow && flow->overwrites_source) worker->grid.watcher->about_to_overwrite(*this, *op, active & guarded);
  const Operation* const next = op->run(*this, op);
  if (next == op + 1 && frame == own && mask == active && (active & guarded))
    worker->grid.watcher->executed(*this, *op, active & guarded);
  return next;
}

void Warp::set_reconvergence(std::int32_t index) {
  reconvergence = index;
  reconvergence_at = index >= 0 && !point(index).is_call() ? point(index).at : nullptr;
}

// A new point for the lanes that run now, nested in the one that they already go to.
std::int32_t Warp::new_reconvergence_point(const Operation* at) {
  auto free = std::find_if(reconvergence_points.begin(), reconvergence_points.end(),
                           [](const ReconvergencePoint& m) { return m.at == nullptr; });
  if (free == reconvergence_points.end()) free = reconvergence_points.emplace(reconvergence_points.end());
  free->at = at;
  free->expected = mask;
  free->arrived = 0;
  free->parent = reconvergence;
  free->frame = frame;
  free->local_base = local_base;
  free->frame_index = frame_index;
  free->call = nullptr;
  return static_cast<std::int32_t>(free - reconvergence_points.begin());
}

const Operation* Warp::diverge(const Operation* taken, std::uint32_t taken_mask, const Operation* not_taken,
                               const Operation* together_at) {
  if (together_at) {
    // A loop that lanes leave one after another has one reconvergence point, not one for each lane that
    // leaves.
    bool same = reconvergence_at == together_at && point(reconvergence).frame == frame;
    if (!same) set_reconvergence(new_reconvergence_point(together_at));
    ReconvergencePoint& here = point(reconvergence);
    std::uint32_t remaining = mask & ~taken_mask;
    if (taken == together_at) {
      here.arrived |= taken_mask;
      set_mask(remaining);
      return not_taken;
    }
    if (not_taken == together_at) {
      here.arrived |= remaining;
      set_mask(taken_mask);
      return taken;
    }
  }
  std::uint32_t remaining = mask & ~taken_mask;
  if (worker->grid.schedule.takes_branches_first(block->linear_id << 32 ^ block->rounds)) {
    std::swap(taken, not_taken);
    std::swap(taken_mask, remaining);
  }
  set_mask(taken_mask);
  save(taken, DivergentPath::State::ready);
  set_mask(remaining);
  return not_taken;
}

const Operation* Warp::arrive() {
  ReconvergencePoint& here = point(reconvergence);
  here.arrived |= mask;
  return here.arrived == here.expected ? complete(reconvergence) : next_path();
}

const Operation* Warp::complete(std::int32_t index) {
  ReconvergencePoint& met = point(index);
  const Operation* next = met.at;
  if (met.is_call()) {
    const Code& code = worker->grid.code;
    std::uint32_t position = met.call->list;
    listed_slots(code, position); // skips the arguments
    std::vector<Frame::Slot> results = listed_slots(code, position);
    const Frame& callee = code.frames[met.callee_index];
    for (std::size_t i = 0; i < results.size() && i < callee.results.size(); ++i)
      copy_slot(*this, met.frame, results[i], met.callee_frame.data(), callee.results[i], met.arrived);
  }
  frame = met.frame;
  local_base = met.local_base;
  frame_index = met.frame_index;
  rendezvous = -1;
  set_mask(met.arrived);
  met.at = nullptr;
  met.callee_frame.clear();
  set_reconvergence(met.parent);
  return next;
}

const Operation* Warp::settle(std::int32_t index) {
  while (index >= 0) {
    ReconvergencePoint& here = point(index);
    if (here.expected != 0 && here.arrived == here.expected) return complete(index);
    if (here.expected != 0) break;
    here.at = nullptr;
    index = here.parent;
  }
  return next_path();
}

const Operation* Warp::leave(std::uint32_t leaving, const Operation* next) {
  alive &= ~leaving;
  for (std::int32_t i = reconvergence; i >= 0; i = point(i).parent) point(i).expected &= ~leaving;
  check_rendezvouses();
  const std::uint32_t had_arrived = cluster_arrived & leaving;
  cluster_arrived &= ~leaving;
  cluster_released &= ~leaving;
  block->left(static_cast<std::uint32_t>(std::popcount(leaving)));
  block->cluster->left(static_cast<std::uint32_t>(std::popcount(had_arrived)));
  if (mask & ~leaving) {
    set_mask(mask & ~leaving);
    return next;
  }
  return settle(reconvergence);
}

const Operation* Warp::call(const Operation* op, std::uint32_t callee_index) {
  const Code& code = worker->grid.code;
  const Frame& callee = code.frames[callee_index];
  std::uint32_t callee_local = local_base + code.frames[frame_index].local_bytes;
  constexpr std::size_t most_nested = 100000;
  if (callee.local_bytes > worker->local_stride - callee_local || reconvergence_points.size() > most_nested)
    stop(*this, op, Fault::Kind::stack_overflow,
         fmt::format("a thread's stack, which has {} bytes here, is full: too many nested calls",
                     worker->local_stride),
         mask);
  std::int32_t index = new_reconvergence_point(op + 1);
  ReconvergencePoint& back = point(index);
  back.call = op;
  back.callee_index = callee_index;
  back.callee_frame.assign(callee.bytes, std::byte{0});
  fill_frame(*this, callee, back.callee_frame.data(), callee_local);
  std::uint32_t position = op->list;
  std::vector<Frame::Slot> arguments = listed_slots(code, position);
  for (std::size_t i = 0; i < arguments.size() && i < callee.parameters.size(); ++i)
    copy_slot(*this, back.callee_frame.data(), callee.parameters[i], frame, arguments[i], mask);
  frame = back.callee_frame.data();
  local_base = callee_local;
  frame_index = callee_index;
  set_reconvergence(index);
  return callee.entry;
}

const Operation* Warp::return_from_call() {
  std::int32_t innermost = reconvergence, index = reconvergence;
  for (; !point(index).is_call(); index = point(index).parent) point(index).expected &= ~mask;
  point(index).arrived |= mask;
  return settle(innermost);
}

void Warp::wait_at_barrier(unsigned barrier, const Operation* next) {
  if (mask == alive) kept_apart = false;
  save(next, DivergentPath::State::at_barrier);
  paths.back().barrier = static_cast<std::uint8_t>(barrier);
}

const Operation* Warp::slice_over(const Operation* next) {
  save(next, DivergentPath::State::ready);
  std::rotate(paths.begin(), paths.end() - 1, paths.end());
  if (release_waiting(reconvergence))
    kept_apart = true; // they may hold what this path spins on: a lock, a flag
  return nullptr;
}

bool Warp::release_waiting(std::int32_t index) {
  bool any = false;
  for (; index >= 0; index = point(index).parent) {
    ReconvergencePoint& here = point(index);
    if (here.is_call() || here.arrived == 0) continue;
    paths.push_back({.next = here.at,
                     .frame = here.frame,
                     .mask = here.arrived,
                     .reconvergence = here.parent,
                     .local_base = here.local_base,
                     .frame_index = here.frame_index});
    here.expected &= ~here.arrived;
    here.arrived = 0;
    any = true;
  }
  return any;
}

bool Warp::release_all_waiting() {
  bool any = false;
  for (std::size_t i = 0; i < reconvergence_points.size(); ++i)
    if (reconvergence_points[i].at) any |= release_waiting(static_cast<std::int32_t>(i));
  return any;
}

bool Warp::gather(const Operation* op, std::uint32_t members, const std::uint64_t* own_values,
                  Rendezvous*& met) {
  met = nullptr;
  std::uint32_t needed = members & alive;
  if ((needed & ~mask) == 0 && rendezvous < 0) return true;
  if (rendezvous < 0) {
    auto open = std::find_if(rendezvouses.begin(), rendezvouses.end(), [&](const Rendezvous& r) {
      return r.members == members && !r.complete && !(r.arrived & mask);
    });
    if (open == rendezvouses.end()) {
      open = std::find_if(rendezvouses.begin(), rendezvouses.end(),
                          [](const Rendezvous& r) { return r.members == 0; });
      if (open == rendezvouses.end()) open = rendezvouses.emplace(rendezvouses.end());
      *open = Rendezvous{.members = members};
    }
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
      if (mask >> lane & 1) open->values[lane] = own_values ? own_values[lane] : 0;
    open->arrived |= mask;
    rendezvous = static_cast<std::int32_t>(open - rendezvouses.begin());
    check_rendezvouses();
  }
  Rendezvous& mine = rendezvouses[static_cast<std::size_t>(rendezvous)];
  if (!mine.complete) {
    save(op, DivergentPath::State::at_rendezvous);
    return false;
  }
  met = &mine;
  return true;
}

void Warp::collected(Rendezvous& met) {
  met.collected |= mask;
  if ((met.arrived & ~met.collected & alive) == 0) met.members = 0;
  rendezvous = -1;
}

void Warp::check_rendezvouses() {
  for (std::size_t i = 0; i < rendezvouses.size(); ++i) {
    Rendezvous& open = rendezvouses[i];
    if (open.members == 0 || open.complete || (open.members & alive & ~open.arrived)) continue;
    open.complete = true;
    for (DivergentPath& path : paths)
      if (path.state == DivergentPath::State::at_rendezvous &&
          path.rendezvous == static_cast<std::int32_t>(i))
        path.state = DivergentPath::State::ready;
  }
}

} // namespace warpfold::machine
