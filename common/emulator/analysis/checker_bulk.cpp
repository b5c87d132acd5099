// Reports places in shared memory that are used while a bulk copy to them, or from them, may still be under
// way, and those that are handed to one without a proxy fence.
#include "checker_notes.hpp"
#include "naming.hpp"
#include "words.hpp"

#include <bit>

namespace warpfold::analysis {

using machine::AccessKind;
using machine::warp_lanes;

namespace {

constexpr std::uint64_t word_bytes = 4;

unsigned thread_number(const machine::Warp& warp, unsigned lane) {
  return warp.index * warp_lanes + lane;
}

template <typename Visit>
void each_thread(const machine::Warp& warp, std::uint32_t lanes, Visit visit) {
  for (; lanes; lanes &= lanes - 1)
    visit(thread_number(warp, static_cast<unsigned>(std::countr_zero(lanes))));
}

} // namespace

void Checker::report_bulk(const Notes& mine, const machine::Warp& warp, const machine::Operation& operation,
                          const BulkCopies::Doing& other, Hazard hazard) {
  if (!is_new(hazard.kind, operation, other.operation, hazard.reach)) return;
  hazard.where = mine.grid->code.line_of(operation);
  hazard.other = mine.grid->code.line_of(warp.worker->grid.code.operations[other.operation]);
  recorder_.add(std::move(hazard));
}

std::string Checker::thread_in_words(const Notes& mine, const machine::Block& block, unsigned thread) const {
  return thread_in_words(mine, block.warps[thread / warp_lanes], thread % warp_lanes);
}

// An access to shared memory, by a thread itself or by a bulk copy that it starts.
void Checker::check_bulk(Notes& mine, const machine::Access& access) {
  const machine::Warp& warp = access.warp;
  const machine::Block& block = *warp.block;
  const bool is_copy = mine.facts->is_bulk[access.operation.index];
  const bool writes = access.kind != AccessKind::load;
  const std::uint32_t synchronised = mine.order.phase_of(warp.index);
  for (std::uint32_t mask = access.mask; mask; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const unsigned thread = thread_number(warp, lane);
    const std::uint64_t first = access.addresses[lane], end = first + access.width;
    const auto name = [&](std::uint64_t word) {
      const unsigned width = std::min<unsigned>(access.width, sizeof(std::uint64_t) * 2);
      return shared_name(mine.grid->code, access.width <= width ? first : word * word_bytes,
                         access.width <= width ? access.width : static_cast<unsigned>(word_bytes));
    };
    const BulkCopies::Doing *to = nullptr, *from = nullptr;
    std::uint64_t at = first / word_bytes;
    for (; !to && !from && at * word_bytes < end; ++at) {
      to = is_copy && writes ? nullptr : mine.bulk.writer_to(at, thread, synchronised);
      from = writes ? mine.bulk.reader_of(at) : nullptr;
    }
    if (to)
      report_bulk(mine, warp, access.operation, *to,
                  describe_bulk_in_flight(thread_in_words(mine, warp, lane), name(at - 1), access.kind,
                                          thread_in_words(mine, block, to->thread)));
    else if (from)
      report_bulk(mine, warp, access.operation, *from,
                  describe_bulk_still_reads(thread_in_words(mine, warp, lane), name(at - 1), access.kind,
                                            thread_in_words(mine, block, from->thread)));
    if (writes && !is_copy)
      mine.bulk.written(thread, first, access.width, access.operation.index, mine.order.clock);
  }
}

// The block has come to its end.
void Checker::check_bulk_at_end(const Notes& mine, const machine::Block& block) {
  const BulkCopies::Doing* const left = mine.bulk.unfinished();
  if (!left) return;
  const machine::Operation& operation = mine.grid->code.operations[left->operation];
  Hazard hazard = describe_bulk_outlives(machine::block_name(mine.grid->shape, block.linear_id),
                                         thread_in_words(mine, block, left->thread));
  if (!is_new(hazard.kind, operation, left->operation, hazard.reach)) return;
  hazard.where = mine.grid->code.line_of(operation);
  recorder_.add(std::move(hazard));
}

void Checker::bulk_read_begins(const machine::Warp& warp, const machine::Operation& operation, unsigned lane,
                               std::uint64_t offset, std::uint32_t bytes, bool in_group) {
  Notes& mine = notes(*warp.block);
  const unsigned thread = thread_number(warp, lane);
  for (std::uint64_t at = offset / word_bytes; checks_.races && at * word_bytes < offset + bytes; ++at) {
    if (mine.bulk.is_fenced(at, thread)) continue;
    const BulkCopies::Doing& write = mine.bulk.writer_of(at);
    report_bulk(mine, warp, operation, write,
                describe_unfenced(thread_in_words(mine, warp, lane),
                                  shared_name(mine.grid->code, at * word_bytes, word_bytes),
                                  thread_in_words(mine, *warp.block, write.thread)));
    break;
  }
  if (in_group) mine.bulk.reads(thread, offset, bytes, operation.index);
}

void Checker::bulk_write_begins(const machine::Warp& warp, const machine::Operation& operation, unsigned lane,
                                std::uint64_t offset, std::uint32_t bytes, std::uint64_t mbarrier,
                                std::uint32_t phase) {
  Notes& mine = notes(*warp.block);
  mine.bulk.writes(thread_number(warp, lane), offset, bytes, operation.index, mbarrier, phase,
                   mine.order.clock);
}

void Checker::bulk_committed(const machine::Warp& warp) {
  Notes& mine = notes(*warp.block);
  each_thread(warp, warp.mask, [&](unsigned thread) { mine.bulk.commit(thread); });
}

void Checker::bulk_waited_for(const machine::Warp& warp, std::uint32_t groups_left) {
  Notes& mine = notes(*warp.block);
  each_thread(warp, warp.mask, [&](unsigned thread) { mine.bulk.wait(thread, groups_left); });
}

void Checker::phases_seen(const machine::Warp& warp, std::uint32_t lanes, std::uint64_t mbarrier,
                          std::uint32_t phase) {
  Notes& mine = notes(*warp.block);
  if (!mine.facts->has_bulk) return;
  each_thread(warp, lanes, [&](unsigned thread) { mine.bulk.phases_seen(thread, mbarrier, phase); });
}

void Checker::proxy_fence(const machine::Warp& warp, const machine::Operation&) {
  Notes& mine = notes(*warp.block);
  if (!mine.facts->has_bulk) return;
  each_thread(warp, warp.mask,
              [&](unsigned thread) { mine.bulk.fence(thread, mine.order.phase_of(warp.index)); });
}

} // namespace warpfold::analysis
