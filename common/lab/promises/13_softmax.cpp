#include "promises/usual.hpp"

namespace lab::promises {
namespace {

constexpr std::size_t widest_kept = 32 * 1024; // elements in the registers of a block
constexpr std::size_t widest_of_cluster = 16 * widest_kept;

double columns(const Size& s) {
  return s.rows ? double(s.n) / double(s.rows) : 0;
}
// A thread's elements of a row, then the tree of the block.
double depth_of_row(const Size& s) {
  return columns(s) / s.block + 1 + 10;
}

// How often a row is read; the longest ones, which no cluster keeps, may take more walks.
template <int times, int times_of_longest = times>
double walks(const Size& s) {
  return columns(s) > widest_of_cluster ? times_of_longest : times;
}
template <int times, int times_of_longest = times>
Promise reads_each_element() {
  return equal(
      Counter::elements_read, [](const Size& s) { return walks<times, times_of_longest>(s) * double(s.n); },
      times != times_of_longest ? "each element of a row that a block or a cluster keeps must be read once, "
                                  "and of a longer row twice"
      : times == 1 ? "each element must be read once: it stays in a register until it is used again"
      : times == 2
          ? "each element must be read twice: once for the maximum and the sum together, once for its weight"
          : "each element must be read three times: for the maximum, for the sum and for its weight");
}
Promise writes_each_element_once() {
  return equal(
      Counter::elements_written, [](const Size& s) { return double(s.n); },
      "each result must be written once");
}
Promise one_block_per_row() {
  return equal(
      Counter::blocks, [](const Size& s) { return double(s.rows); }, "one block per row");
}
// Those of all walks; the rows that are counted begin with a sector.
template <int times, int times_of_longest = times>
Promise walks_side_by_side() {
  return equal(
      Counter::global_load_sectors,
      [](const Size& s) { return walks<times, times_of_longest>(s) * double(s.n) / 8; },
      "the lanes of a warp must read neighbouring elements, eight of which fill a sector");
}
// row.store() writes four elements of float at a time. The bound is half of what one by one takes, and two
// for the ends of each row.
Promise stores_vectors() {
  return at_most(
      Counter::global_store_requests, [](const Size& s) { return double(s.n) / 64 + 2 * double(s.rows); },
      "store() of a row writes 16 bytes per thread at a time, which takes a quarter of the requests of "
      "single elements");
}
// So do its loads.
template <int times, int times_of_longest = times>
Promise loads_vectors() {
  return at_most(
      Counter::global_load_requests,
      [](const Size& s) { return walks<times, times_of_longest>(s) * (double(s.n) / 64 + 2 * s.blocks); },
      "load() of a row reads 16 bytes per thread at a time, which takes a quarter of the requests of single "
      "elements");
}
std::vector<Promise> in_clusters() {
  return {
      at_least(
          Counter::blocks, [](const Size& s) { return 2 * double(s.rows); },
          "a cluster of two blocks or more per row"),
      at_least(Counter::dsmem_load_requests, once_per_block,
               "each block must read in the other blocks' shared memory what they know"),
      at_most(
          Counter::dsmem_bytes_per_request, [](const Size& s) { return 8 * s.blocks / double(s.rows); },
          "lane r of a warp reads what the block of rank r has stored, 8 bytes, and the other lanes nothing"),
      at_most(
          Counter::shared_stores, [](const Size& s) { return 40 * s.blocks; },
          "join_block() stores one pair per warp, and thread 0 alone what the block knows"),
      at_most(
          Counter::barriers_per_block, [](const Size&) { return 4.0; },
          "join_block() has two barriers, and the cluster meets twice: when all have stored, and when all "
          "have read"),
      writes_each_element_once(),
      none(Counter::atomic_operations, "the blocks meet in shared memory")};
}
std::vector<Promise> of_one_block() {
  return {one_block_per_row(), writes_each_element_once()};
}
// block_reduce() and join_block() take each warp's lanes twice through five distances, with two values, or
// for the maximum and then for the sum.
template <int calls>
std::vector<Promise> reduced_by(const char* what) {
  return {none(Counter::atomic_operations, "a block combines what its threads know without atomics"),
          at_least(
              Counter::shuffles, [](const Size& s) { return 20 * s.blocks; }, what),
          at_most(
              Counter::barriers_per_block, [](const Size&) { return 2.0 * calls + 1; }, what)};
}

} // namespace

std::vector<Rung> softmax() {
  return {
      Rung("three_reads")
          .computes(RowFunction::softmax)
          .depth(depth_of_row)
          .tried_with_columns(70'001) // more than 16 bits count
          .promise(of_one_block())
          .promise(reduced_by<2>(
              "block_reduce(), which has two barriers, combines what the threads have by shuffles: once "
              "for the maximum and once for the sum"))
          .promise(reads_each_element<3>())
          .promise(walks_side_by_side<3>()),
      Rung("online")
          .computes(RowFunction::softmax)
          .tried_with_columns(70'001)
          .depth(depth_of_row)
          .promise(of_one_block())
          .promise(reduced_by<1>(
              "block_reduce() combines by shuffles, has two barriers, and one call of it is enough: what a "
              "thread knows is the maximum and the sum together"))
          .promise(reads_each_element<2>())
          .promise(walks_side_by_side<2>()),
      Rung("kept")
          .computes(RowFunction::softmax)
          .up_to_columns(widest_kept)
          .tried_with_columns(widest_kept)
          .depth(depth_of_row)
          .promise(of_one_block())
          .promise(reduced_by<1>(
              "join_block() combines by shuffles, has two barriers, and one call of it is enough: what it "
              "gives is the maximum and the sum together"))
          .promise(at_most(
              Counter::warp_instructions,
              [](const Size& s) {
                const double warps = std::clamp(columns(s) / 256, 1.0, 16.0);
                return 2 * double(s.rows) * (columns(s) / 4 + 260 * warps); // twice what it takes
              },
              "a thread has `count` values, as many as its part of the row needs"))
          .promise(stores_vectors())
          .promise(reads_each_element<1>())
          .promise(loads_vectors<1>())
          .promise(walks_side_by_side<1>()),
      Rung("cluster")
          .needs(90)
          .computes(RowFunction::softmax)
          .up_to_columns(widest_of_cluster)
          .tried_with_columns(widest_of_cluster)
          .depth(depth_of_row)
          .promise(in_clusters())
          .promise(stores_vectors())
          .promise(reads_each_element<1>())
          .promise(loads_vectors<1>())
          .promise(walks_side_by_side<1>()),
      Rung("bulk_copies")
          .needs(90)
          .builds_on("kept")
          .computes(RowFunction::softmax)
          .up_to_columns(widest_kept / 2)
          .tried_with_columns(widest_kept / 2)
          .depth(depth_of_row)
          .promise(writes_each_element_once())
          .promise(none(Counter::atomic_operations, "a block works on its rows alone"))
          .promise(reads_each_element<1>())
          .promise(at_least(
              Counter::bulk_loads_in_flight,
              [](const Size& s) { return double(s.rows) > s.blocks ? 2.0 : 1.0; },
              "when a turn waits for its row, the next turn's must be on its way, too"))
          .promise(at_most(
              Counter::barriers_per_block,
              [](const Size& s) { return 3 * double(ceil_div(s.rows, std::size_t(s.blocks))) + 2; },
              "a turn has three barriers: the two of join_block(), and one before the row is stored"))
          .promise(at_most(
              Counter::shared_loads,
              [](const Size& s) { return double(s.n) / 2 + 80.0 * s.warps() * double(s.rows); },
              "kept_of() reads a row once from its buffer, 16 bytes per thread at a time"))
          .promise(at_most(
              Counter::bulk_waits_for_all, once_per_block,
              "all stores must be waited for only once, at the end: in each turn, this turn's may still be "
              "under way"))
          .promise(equal(
              Counter::global_load_requests, [](const Size& s) { return double(s.rows); },
              "a row must come by one bulk copy, and no thread may load from global memory"))
          .promise(equal(
              Counter::global_store_requests, [](const Size& s) { return double(s.rows); },
              "a row must leave by one bulk copy, and no thread may store to global memory")),
      Rung("longest_rows")
          .needs(90)
          .builds_on("cluster")
          .computes(RowFunction::softmax)
          .tried_with_columns(std::size_t{1} << 20)
          .depth(depth_of_row)
          .promise(in_clusters())
          .promise(reads_each_element<2>())
          .promise(equal(
              Counter::elements_read_for_last_time, [](const Size& s) { return double(s.n); },
              "the second walk's loads, and they alone, must say that they are the last: Row<T, true>"))
          .promise(stores_vectors())
          .promise(loads_vectors<2>())
          .promise(walks_side_by_side<2>()),
      Rung("ones_matrix")
          .needs(80)
          .promise(equal(
              Counter::matrix_operations,
              [](const Size& s) { return double(s.rows * ceil_div(s.n / s.rows, 256)); },
              "each multiplication must add up 256 elements of the warp's row"))
          .promise(equal(
              Counter::elements_read, [](const Size& s) { return double(s.n); },
              "each element must be read once"))
          .promise(at_most(
              Counter::global_load_requests,
              [](const Size& s) { return 2.0 * double(s.rows * ceil_div(s.n / s.rows, 256)); },
              "eight_elements() reads 16 bytes per lane: one request for the 256 elements of a "
              "multiplication"))
          .promise(equal(
              Counter::global_load_sectors, [](const Size& s) { return double(s.n) / 16; },
              "the lanes must read neighbouring elements, sixteen of which fill a sector"))
          .promise(none(Counter::atomic_operations, "one lane stores the row's sum"))
          .promise(none(Counter::shared_accesses, "a warp needs no shared memory"))
          .promise(at_most(
              Counter::shuffles, [](const Size& s) { return 5 * double(s.rows); },
              "the lanes' sums are combined once, when the walk is over"))
          .promise(at_most(
              Counter::float_additions, [](const Size& s) { return 320.0 * double(s.rows); },
              "the matrices add up the row; what is left for the lanes is the sum of eight numbers")),
      Rung("rms_norm")
          .needs(90)
          .builds_on("cluster")
          .computes(RowFunction::rms_norm)
          .tried_with_columns(std::size_t{1} << 20)
          .also_counted_with([](const Size&) { return 80.0 * 1024; }, 2) // too long for one block
          .also_counted_with([](const Size&) { return widest_of_cluster + 8.0; }, 1)
          .depth(depth_of_row)
          .promise(reads_each_element<1, 2>())
          .promise(stores_vectors())
          .promise(loads_vectors<1, 2>())
          .promise(equal(
              Counter::blocks,
              [](const Size& s) { return columns(s) <= widest_kept ? double(s.rows) : s.blocks; },
              "one block per row that it can keep"))
          .promise(writes_each_element_once())
          .promise(walks_side_by_side<1, 2>())};
}

} // namespace lab::promises
