#include "promises/usual.hpp"

#include <algorithm>

namespace lab::promises {
namespace {

std::size_t columns(const Size& s) {
  return s.rows ? s.n / s.rows : 0;
}

Promise reads_once() {
  return equal(
      Counter::elements_read, [](const Size& s) { return double(s.n); },
      "each element of the matrix must be read once, and nothing else: a sum stays in a register");
}
// Every sector is asked for once, by loads of one element or of several.
Promise contiguous() {
  return equal(
      Counter::global_load_sectors, [](const Size& s) { return double(s.n) / 8; },
      "the 32 lanes of a warp must read neighbouring elements, eight of which fill a sector");
}
// The most elements for a thread of so many on a row: single elements, or vectors of four.
double share_of_row(const Size& s, unsigned threads) {
  return std::max<double>(ceil_div(columns(s), threads), 4 * ceil_div(columns(s) / 4, threads));
}
Promise stored_once() {
  return equal(
      Counter::elements_written, [](const Size& s) { return double(s.rows); },
      "each row's sum must be stored once, by one thread, and nothing else");
}
// Far more than a loop over a row takes, and far less than a look at each row.
Promise visits_own_row_only() {
  return at_most(
      Counter::thread_instructions,
      [](const Size& s) { return 32.0 * double(s.n) + 256.0 * s.blocks * s.block; },
      "a thread must go to its own row at once, without looking at the rows of others");
}

} // namespace

std::vector<Rung> row_sums() {
  return {
      Rung("thread_per_row")
          .tried_beyond_32_bits(Beyond32Bits::in_rows)
          .promise(reads_once())
          .promise(equal(
              Counter::blocks, [](const Size& s) { return double(ceil_div(s.rows, s.block)); },
              "one thread per row"))
          .promise(each_thread_reads_at_most([](const Size& s) { return double(columns(s)); }))
          .promise(visits_own_row_only())
          .promise(stored_once())
          .promise(none(Counter::atomic_operations, "a thread adds up its row alone"))
          .promise(none(Counter::shuffles, "a thread adds up its row alone"))
          .promise(none(Counter::shared_accesses, "a thread adds up its row alone")),
      Rung("warp_per_row")
          .tried_beyond_32_bits(Beyond32Bits::in_rows)
          .depth([](const Size& s) { return double(ceil_div(columns(s), 32)) + 5; })
          .promise(contiguous())
          .promise(reads_once())
          .promise(equal(
              Counter::shuffles, [](const Size& s) { return 5.0 * double(s.rows); },
              "one warp per row, and five shuffles for its 32 sums"))
          .promise(each_thread_reads_at_most([](const Size& s) { return share_of_row(s, 32); }))
          .promise(stored_once())
          .promise(none(Counter::atomic_operations, "one lane stores the row's sum"))
          .promise(none(Counter::barriers_per_block, "a warp needs no barrier of the block"))
          .promise(none(Counter::shared_accesses, "a warp needs no shared memory")),
      Rung("block_per_row")
          .tried_beyond_32_bits(Beyond32Bits::in_rows)
          .depth([](const Size& s) { return double(ceil_div(columns(s), s.block)) + 10; })
          .promise(contiguous())
          .promise(reads_once())
          .promise(equal(
              Counter::blocks, [](const Size& s) { return double(s.rows); }, "one block per row"))
          .promise(each_thread_reads_at_most([](const Size& s) { return share_of_row(s, s.block); }))
          .promise(at_most(
              Counter::shared_store_requests, // the first warp may set all places to 0 before
              [](const Size& s) { return s.blocks * (s.warps() + 1); },
              "each warp must leave one partial sum in shared memory, no more"))
          .promise(one_read_per_warp_sum())
          .promise(at_most(
              Counter::shuffles, [](const Size& s) { return 5 * s.blocks * (s.warps() + 1); },
              "five shuffles add up a warp, and the first warp alone takes five more for the warps' sums"))
          .promise(stored_once())
          .promise(first_thread_alone_adds())
          .promise(none(Counter::atomic_operations, "one thread stores the row's sum"))
          .promise(one_barrier_between_warps())};
}

} // namespace lab::promises
