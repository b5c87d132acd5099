// Creates the checker's reports, once per place.
#include "checker_notes.hpp"

#include "naming.hpp"
#include "steps.hpp"
#include "words.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <fmt/format.h>
#include <optional>
#include <thread>

namespace warpfold::analysis {

bool Checker::is_new(HazardKind kind, const machine::Operation& operation, std::uint32_t other, int reach) {
  std::lock_guard lock(mutex_);
  return reported_.emplace(kind, &operation, other, reach).second;
}

bool Checker::is_reported(HazardKind kind, const machine::Operation& operation, std::uint32_t other,
                          int reach) {
  std::lock_guard lock(mutex_);
  return reported_.contains({kind, &operation, other, reach});
}

void Checker::report_not_checked(HazardCause cause, const Notes& mine, const machine::Operation& operation) {
  if (!is_new(HazardKind::not_checked, operation, ~0u)) return;
  recorder_.add({HazardKind::not_checked, cause, "races in this launch are not checked from here on",
                 mine.grid->code.line_of(operation)});
}

namespace {

// Does `other` store the same in this place? Nothing if it does not reach it.
std::optional<bool> stores_the_same(const machine::Access& access, unsigned lane,
                                    const machine::Access& other) {
  const std::uint64_t place = access.addresses[lane];
  for (std::uint32_t mask = other.mask; mask; mask &= mask - 1) {
    const auto each = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t address = other.addresses[each];
    if (address == place)
      return other.values && detail::changes_nothing(access, lane, other.values + each * other.value_stride);
    if (address < place + access.width && place < address + other.width) return false;
  }
  return std::nullopt;
}

} // namespace

namespace {

// Whether the line that stores has an atomic operation, too.
bool is_beside_atomic(const machine::Code& code, const machine::Operation& store) {
  const machine::SourceLine here = code.line_of(store);
  return here.line != 0 && std::ranges::any_of(code.operations, [&](const machine::Operation& operation) {
           const std::string& name = code.names[operation.index];
           if (!name.starts_with("atom.") && !name.starts_with("red.")) return false;
           const machine::SourceLine there = code.line_of(operation);
           return there.line == here.line && there.file == here.file;
         });
}

bool is_one_step(const machine::Code& code, const machine::Access& access, const Conflict& conflict,
                 RaceScope scope) {
  using machine::AccessKind;
  const bool stores = access.kind == AccessKind::store;
  if (scope >= RaceScope::blocks || conflict.earlier.is_atomic || conflict.earlier_wrote == stores ||
      access.kind == AccessKind::atomic)
    return false;
  const machine::Operation& earlier = code.operations[conflict.earlier.operation];
  return stores ? are_in_one_step(code, earlier, access.operation, scope == RaceScope::warp)
                : are_in_one_step(code, access.operation, earlier, scope == RaceScope::warp);
}

} // namespace

bool Checker::stores_what_was_stored(const machine::Access& access, unsigned lane, std::uint32_t block) {
  constexpr auto patience = std::chrono::seconds(1); // the other worker may have no core for a while
  using History = BlockHistories::History;
  const std::uint32_t mine = notes(*access.warp.block).block;
  const History& other = launches_.history_of(block);
  const std::uint32_t before = other.accesses.load(std::memory_order_acquire);
  bool is_performed = before == History::ended || other.worker == &access.warp.block->worker;
  const auto end = std::chrono::steady_clock::now() + patience;
  std::optional<bool> is_same;
  std::unique_lock lock(mutex_);
  waiting_[mine] = &access;
  while (!is_performed && !is_same && std::chrono::steady_clock::now() < end) {
    if (const auto found = waiting_.find(block); found != waiting_.end()) {
      is_same = stores_the_same(access, lane, *found->second);
      is_performed = !is_same;
    }
    lock.unlock();
    std::this_thread::yield();
    is_performed |= other.accesses.load(std::memory_order_acquire) != before;
    lock.lock();
  }
  waiting_.erase(mine);
  if (is_same) return *is_same;
  return detail::changes_nothing(access, lane, reinterpret_cast<const std::byte*>(access.addresses[lane]));
}

std::string Checker::device_in_words(int device) const {
  return memory_.devices() > 1 ? fmt::format(" of device {}", device) : "";
}

std::string Checker::launch_in_words(const Notes& mine) {
  machine::Fault fault;
  if (mine.grid->complete) mine.grid->complete(fault);
  return fault.launch;
}

std::string Checker::thread_in_words(const Notes& mine, const machine::Warp& warp, unsigned lane) const {
  return machine::thread_name(mine.grid->shape, warp.block->linear_id, warp.index, lane) +
         device_in_words(mine.grid->device);
}

void Checker::report_race(const machine::Access& access, const Conflict& conflict) {
  const AccessRecord& earlier = conflict.earlier;
  const Notes& mine = notes(*access.warp.block);
  const Launches::Launch& other = launches_.of(earlier.block);
  const bool shared = access.space == ptx::Space::shared, same_block = earlier.block == mine.block,
             same_launch = &other == mine.launch;
  constexpr Missing fences[] = {Missing::fence,        Missing::wide_fence, Missing::cluster_fence,
                                Missing::system_fence, Missing::acquire,    Missing::poll,
                                Missing::wide_acquire};
  const bool fence = std::ranges::find(fences, conflict.missing) != std::end(fences);
  const HazardKind kind = conflict.is_harmless ? HazardKind::equal_writes
                          : shared             ? HazardKind::race_shared
                          : fence              ? HazardKind::fence
                                               : HazardKind::race_global;
  const RaceScope scope = !same_launch && other.device != mine.launch->device ? RaceScope::devices
                          : !same_launch                                      ? RaceScope::launches
                          : !same_block                                       ? RaceScope::blocks
                          : earlier.warp == access.warp.index                 ? RaceScope::warp
                                                                              : RaceScope::block;
  const int reach = reach_of(scope, conflict.missing);
  const bool same_store = conflict.earlier_wrote && access.kind == machine::AccessKind::store &&
                          same_launch && earlier.operation == access.operation.index;
  // The blocks of a cluster belong to one worker, so what they stored in shared memory is there.
  if (!same_block && same_store && !shared &&
      !is_reported(kind, access.operation, earlier.operation, reach) &&
      stores_what_was_stored(access, conflict.lane, earlier.block))
    return;
  if (!is_new(kind, access.operation, earlier.operation, reach)) return;
  const machine::SourceLine where = mine.grid->code.line_of(access.operation);
  // Of what is wider than any number, such as a part of a bulk copy, what the other one accesses.
  constexpr unsigned widest_number = 8;
  const bool names_part = access.width > widest_number && earlier.width != 0;
  const unsigned width = names_part ? std::min<unsigned>(access.width, earlier.width) : access.width;
  const std::uint64_t place = (access.addresses[conflict.lane] + conflict.offset) / width * width;
  Race race{.kind = kind,
            .later = access.kind,
            .earlier_wrote = conflict.earlier_wrote,
            .earlier_atomic = earlier.is_atomic,
            .one_statement = same_store && !earlier.is_atomic,
            .beside_atomic =
                same_store && !earlier.is_atomic && is_beside_atomic(mine.grid->code, access.operation),
            .one_step = is_one_step(mine.grid->code, access, conflict, scope),
            .earlier_bulk =
                shared && same_launch && conflict.earlier_wrote && mine.facts->is_bulk[earlier.operation],
            .in_opencl = is_in_opencl(where),
            .scope = scope,
            .missing = conflict.missing,
            .place = shared ? shared_in_words(mine, *access.warp.block, place, width)
                            : global_name(memory_, place, width),
            .later_thread = thread_in_words(mine, access.warp, conflict.lane),
            .earlier_thread = machine::thread_name(other.shape, earlier.block - other.first_block,
                                                   earlier.warp, conflict.earlier_lane) +
                              device_in_words(other.device)};
  Hazard hazard = describe(race);
  hazard.where = where;
  hazard.other = other.code->line_of(other.code->operations[earlier.operation]);
  recorder_.add(std::move(hazard));
}

// "; of the 64 elements there, only element 0 has been": nothing where that is no longer known.
std::string Checker::what_is_written(std::uint64_t address, unsigned width) {
  constexpr std::uint64_t most_elements = 1 << 20;
  const auto array = memory_.find(address);
  if (!array || address < array->origin || (address - array->origin) % width != 0) return "";
  const std::uint64_t elements = (array->end() - array->origin) / width;
  if (elements < 2 || elements > most_elements) return "";
  std::lock_guard lock(mutex_);
  if (marked_as_written_.contains(array->origin)) return "";
  return "; " + written_.in_words(array->origin, elements, width);
}

// So that each place is reported once.
void Checker::mark_as_written(std::uint64_t address, unsigned width) {
  const auto array = memory_.find(address);
  std::lock_guard lock(mutex_);
  if (array) marked_as_written_.insert(array->origin);
  written_.written(address, width);
}

// A library's own block of shared memory is its own business: CUB's merge reads one element beyond what it
// has written there, and discards it.
void Checker::report_uninitialised(const machine::Access& access, unsigned lane) {
  const std::uint64_t address = access.addresses[lane];
  const Notes& mine = notes(*access.warp.block);
  const machine::Code& code = mine.grid->code;
  if (access.space != ptx::Space::global && code.facts[access.operation.index].of_library) return;
  if (!is_new(HazardKind::uninitialised, access.operation, ~0u)) return;
  const bool counts_bytes =
      access.space == ptx::Space::global && machine::counts_bytes(access.warp, access.operation);
  const std::string place =
      access.space == ptx::Space::shared  ? shared_in_words(mine, *access.warp.block, address, access.width)
      : access.space == ptx::Space::local ? fmt::format("byte {} of its local memory", address)
                                          : global_name(memory_, address, counts_bytes ? 1 : access.width);
  Hazard hazard = describe_uninitialised(thread_in_words(mine, access.warp, lane), place, access.space);
  if (access.space == ptx::Space::global) {
    if (!counts_bytes) hazard.message += what_is_written(address, access.width);
    hazard.launch = launch_in_words(mine);
  }
  hazard.where = code.line_of(access.operation);
  recorder_.add(std::move(hazard));
}

void Checker::bad_access(const machine::Warp&, const machine::Operation& operation,
                         const machine::Fault& fault) {
  Hazard hazard = hazard_from(fault);
  if (is_new(hazard.kind, operation, ~0u)) recorder_.add(std::move(hazard));
}

// A barrier of CUDA's waits for the threads that have not left, one of OpenCL's for all items of the group.
void Checker::report_left(const machine::Block& block, const machine::Operation& operation) {
  const Notes& mine = notes(block);
  Hazard hazard{HazardKind::barrier, HazardCause::barrier_not_for_all_items};
  hazard.where = mine.grid->code.line_of(operation);
  if (!is_in_opencl(hazard.where) || !is_new(hazard.kind, operation, ~0u)) return;
  hazard.message =
      fmt::format("{} of the {} threads of {} have returned before this barrier", block.threads - block.alive,
                  block.threads, machine::block_name(mine.grid->shape, block.linear_id));
  recorder_.add(std::move(hazard));
}

void Checker::notice(const machine::Warp& warp, const machine::Operation& operation, machine::Notice what,
                     std::uint32_t lanes, const machine::Operation* other) {
  const Notes& mine = notes(*warp.block);
  const machine::Code& code = mine.grid->code;
  machine::SourceLine where = code.line_of(operation),
                      second = other ? code.line_of(*other) : machine::SourceLine{};
  if (what == machine::Notice::barrier_mismatch && where.line == second.line && where.file == second.file)
    return;
  Hazard hazard = describe(what, thread_in_words(mine, warp, static_cast<unsigned>(std::countr_zero(lanes))),
                           static_cast<unsigned>(std::popcount(lanes)));
  if (!is_new(hazard.kind, operation, other ? other->index : ~0u - static_cast<unsigned>(what))) return;
  hazard.where = where;
  hazard.other = second;
  recorder_.add(std::move(hazard));
}

} // namespace warpfold::analysis
