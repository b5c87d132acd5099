// What is counted for a launch, and what is computed from the counts.
#include "analysis/counters.hpp"

#include "machine/address_space.hpp"

#include <gtest/gtest.h>

#include <string>

namespace warpfold::analysis {
namespace {

// A texture, 1, and a surface, 2, of 32 words.
std::shared_ptr<const machine::Textures> objects_at(std::uint64_t data) {
  machine::Texture made;
  made.resource = {.shape = machine::Shape::row,
                   .format = {},
                   .levels = {{.begin = data, .width = 32, .row_bytes = 128, .slice_bytes = 128}},
                   .label = "data"};
  auto all = std::make_shared<machine::Textures>();
  all->emplace(1, std::make_shared<const machine::Texture>(made));
  made.resource.is_surface = true;
  all->emplace(2, std::make_shared<const machine::Texture>(made));
  return all;
}

// The counters of one launch of a kernel with this body. %rd1: the address of 4096 bytes of global memory;
// %r1: threadIdx.x; %rd2: threadIdx.x times 4; `table`: 4096 bytes of shared memory.
machine::LaunchRecord launched(const std::string& body, std::uint32_t threads, std::uint32_t blocks,
                               Counters& total) {
  machine::AddressSpace memory(1 << 20);
  machine::Program program(ptx::parse(R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry test(.param .u64 data)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  .shared .align 16 .b8 table[4096];
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
)" + body + "\n  ret;\n}\n"),
                           memory);
  auto data = reinterpret_cast<std::uint64_t>(memory.allocate(4096, machine::MemoryKind::device, "data"));
  const machine::LaunchRecord record = machine::launch(
      *program.kernel("test"), {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}},
      std::as_bytes(std::span(&data, 1)), {.workers = 1, .textures = objects_at(data), .schedule = {}});
  EXPECT_FALSE(record.fault) << record.fault->message;
  total = count(record).total;
  return record;
}
Counters counted(const std::string& body, std::uint32_t threads = 32, std::uint32_t blocks = 1) {
  Counters total;
  launched(body, threads, blocks, total);
  return total;
}
machine::BusiestReaders busiest(const std::string& body, std::uint32_t threads = 32,
                                std::uint32_t blocks = 1) {
  Counters total;
  return launched(body, threads, blocks, total).busiest;
}

// Each of two blocks of a cluster reaches the other's `table` at %r5, its own at %r4.
Counters counted_in_cluster(const std::string& body) {
  machine::AddressSpace memory(1 << 20);
  machine::Program program(ptx::parse(R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry test()
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .shared .align 4 .b8 table[4096];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %cluster_ctarank;
  xor.b32 %r3, %r2, 1;
  mov.u32 %r4, table;
  mad.lo.u32 %r4, %r1, 4, %r4;
  mapa.shared::cluster.u32 %r5, %r4, %r3;
)" + body + "\n  ret;\n}\n"),
                           memory);
  const machine::LaunchRecord record =
      machine::launch(*program.kernel("test"), {.grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}},
                      {}, {.workers = 1, .schedule = {}});
  EXPECT_FALSE(record.fault) << record.fault->message;
  return count(record).total;
}

TEST(Counting, MemoryOfOtherBlocksApart) {
  const Counters all =
      counted_in_cluster("ld.shared::cluster.u32 %r6, [%r5]; ld.shared::cluster.u32 %r6, [%r4];"
                         "st.shared::cluster.u32 [%r5], %r6; st.shared.u32 [%r4], %r6;"
                         "atom.shared::cluster.add.u32 %r6, [%r5], 1;");
  EXPECT_EQ(all.dsmem_load_requests, 2u);
  EXPECT_EQ(all.dsmem_store_requests, 4u);
  EXPECT_EQ(all.dsmem_bytes, 2 * 3 * 128u);
  EXPECT_EQ(all.shared_load_requests, 2u);
  EXPECT_EQ(all.shared_store_requests, 2u);
  EXPECT_EQ(all.shared_load_wavefronts, 2u);
  EXPECT_EQ(all.atomic_requests, 2u);
  EXPECT_EQ(all.atomic_operations, 64u);
  EXPECT_EQ(all.global_load_requests, 0u);
}

// Lanes of one request go to their own block and to the other one.
TEST(Counting, RequestToBothBlocks) {
  const Counters all =
      counted_in_cluster("and.b32 %r7, %r1, 1; setp.eq.u32 %p1, %r7, 0; selp.u32 %r7, %r4, %r5, %p1;"
                         "ld.shared::cluster.u32 %r6, [%r7];");
  EXPECT_EQ(all.dsmem_load_requests, 2u);
  EXPECT_EQ(all.dsmem_bytes, 2 * 64u);
  EXPECT_EQ(all.shared_load_requests, 2u);
}

TEST(Counting, InstructionsOfWarpsAndLanes) {
  const Counters before = counted(""), all = counted("add.s32 %r2, %r1, 1;"),
                 some = counted("add.s32 %r2, %r1, 1;", 48);
  EXPECT_EQ(all.warp_instructions - before.warp_instructions, 1u);
  EXPECT_EQ(all.thread_instructions - before.thread_instructions, 32u);
  EXPECT_EQ(some.warp_instructions, 2 * all.warp_instructions);
  EXPECT_DOUBLE_EQ(all.simt_efficiency(), 1);
  EXPECT_DOUBLE_EQ(some.simt_efficiency(), 0.75);
}

TEST(Counting, CoalescedLoad) {
  const Counters c = counted("ld.global.f32 %r2, [%rd3];");
  EXPECT_EQ(c.global_load_requests, 1u);
  EXPECT_EQ(c.global_load_sectors, 4u);
  EXPECT_EQ(c.global_load_waits, 1u);
  EXPECT_EQ(c.bytes_read, 128u);
  EXPECT_EQ(c.global_store_requests, 0u);
  EXPECT_DOUBLE_EQ(c.sectors_per_load_request(), 4);
}

TEST(Counting, WeakLoadsCannotPoll) {
  for (const char* strong : {"volatile.global", "relaxed.gpu.global", "acquire.sys.global"}) {
    const Counters did =
        counted(std::string("ld.global.u32 %r2, [%rd3];\n  ld.") + strong + ".u32 %r3, [%rd3];");
    EXPECT_EQ(did.global_load_sectors, 8u) << strong;
    EXPECT_EQ(did.weak_load_sectors, 4u) << strong;
  }
}
TEST(Counting, LoadsUnderWayTogetherShareAWait) {
  const Counters c =
      counted("ld.global.b32 %r2, [%rd3]; ld.global.b32 %r3, [%rd3+128]; add.s32 %r4, %r2, %r3;");
  EXPECT_EQ(c.global_load_requests, 2u);
  EXPECT_EQ(c.global_load_waits, 1u);
  EXPECT_DOUBLE_EQ(c.loads_per_wait(), 2);
}

TEST(Counting, Stores) {
  const Counters c = counted("st.global.b32 [%rd3], %r1;", 64, 3);
  EXPECT_EQ(c.global_store_requests, 6u);
  EXPECT_EQ(c.global_store_sectors, 24u);
  EXPECT_EQ(c.bytes_written, 3 * 256u);
  EXPECT_DOUBLE_EQ(c.sectors_per_request(), 4);
}

TEST(Counting, BankConflicts) {
  // Lane i accesses word 2 * i: two lanes per bank.
  const Counters c = counted("mov.u32 %r2, table; mad.lo.s32 %r2, %r1, 8, %r2; st.shared.b32 [%r2], %r1;"
                             "ld.shared.b32 %r3, [%r2];");
  EXPECT_EQ(c.shared_store_requests, 1u);
  EXPECT_EQ(c.shared_store_wavefronts, 2u);
  EXPECT_EQ(c.shared_load_requests, 1u);
  EXPECT_EQ(c.shared_load_wavefronts, 2u);
  EXPECT_EQ(c.bank_conflicts, 2u);
}

TEST(Counting, Divergence) {
  const Counters c = counted("setp.lt.u32 %p1, %r1, 8; @%p1 bra L; add.s32 %r2, %r1, 1; L:"
                             "setp.lt.u32 %p2, %r1, 64; @%p2 bra M; add.s32 %r2, %r1, 1; M:");
  EXPECT_EQ(c.branches, 2u);
  EXPECT_EQ(c.divergent_branches, 1u);
  EXPECT_DOUBLE_EQ(c.divergent_share(), 0.5);
}

TEST(Counting, AtomicsShufflesBarriers) {
  const Counters c =
      counted("red.global.add.u32 [%rd1], 1; shfl.sync.down.b32 %r2, %r1, 1, 31, -1; bar.sync 0;", 64, 2);
  EXPECT_EQ(c.atomic_requests, 4u);
  EXPECT_EQ(c.atomic_operations, 128u);
  EXPECT_EQ(c.shuffles, 4u);
  EXPECT_EQ(c.barriers, 2u);
}

TEST(Busiest, ReadersThatShareTheWork) {
  const auto all = busiest("ld.global.f32 %r2, [%rd3]; ld.global.f32 %r2, [%rd3];", 64, 3);
  EXPECT_EQ(all.thread, 8u);
  EXPECT_EQ(all.warp, 256u);
  EXPECT_EQ(all.block, 512u);
  EXPECT_EQ(all.thread_in_shared, 0u);
}

TEST(Busiest, OneThreadOfABlock) {
  const auto one =
      busiest("setp.ne.u32 %p1, %r1, 5; @%p1 bra over; ld.global.f32 %r2, [%rd3]; ld.global.f32 %r2, "
              "[%rd3]; over: ld.global.f32 %r2, [%rd3];",
              64, 2);
  EXPECT_EQ(one.thread, 12u);
  EXPECT_EQ(one.warp, 128u + 8u);
  EXPECT_EQ(one.block, 256u + 8u);
}

TEST(Busiest, SharedMemoryOfALastWarpThatIsNotWhole) {
  const auto shared = busiest("mov.u32 %r3, table; st.shared.u32 [%r3], %r1; ld.shared.u32 %r2, [%r3];", 40);
  EXPECT_EQ(shared.thread_in_shared, 4u);
  EXPECT_EQ(shared.thread, 0u);
}

TEST(Busiest, LoadsThatLookAgainAreLeftOut) {
  EXPECT_EQ(busiest("ld.volatile.global.f32 %r2, [%rd3]; ld.relaxed.gpu.global.f32 %r2, [%rd3];").thread, 0u);
}

TEST(Counting, DoublesFencesReductionsAndFloatAtomics) {
  const Counters c =
      counted("cvt.rn.f64.u32 %rd4, %r1; add.f64 %rd5, %rd4, %rd4; fma.rn.f64 %rd5, %rd4, %rd4, %rd5; "
              "setp.lt.f64 %p1, %rd4, %rd5; membar.gl; fence.acq_rel.gpu; "
              "red.global.add.f32 [%rd1], 0f00000000; red.global.add.u32 [%rd1], 1;",
              64);
  EXPECT_EQ(c.double_instructions, 4u);
  EXPECT_EQ(c.fences, 4u);
  EXPECT_EQ(c.float_atomics, 64u);
  EXPECT_EQ(c.atomic_operations, 128u);
}

TEST(Counting, RequestsOfTexturesAndSurfaces) {
  const Counters counters = counted(R"(
  mov.u64 %rd4, 1; mov.u64 %rd5, 2;
  mov.b32 %r2, 0;
  tex.1d.v4.u32.f32 {%r3, %r4, %r5, %r6}, [%rd4, {%r2}];
  setp.lt.u32 %p1, %r1, 8;
  mul.lo.u32 %r2, %r1, 4;
  @%p1 sust.b.1d.b32.zero [%rd5, {%r2}], {%r3};
  suld.b.1d.b32.zero {%r3}, [%rd5, {%r2}];)",
                                    64);
  EXPECT_EQ(counters.texture_requests, 2u);
  EXPECT_EQ(counters.surface_requests, 3u); // of the two stores, one has no lane
  EXPECT_EQ(counters.global_load_requests, 0u);
  EXPECT_EQ(counters.global_store_requests, 0u);
}

TEST(Counting, OperationsOnMatrices) {
  const Counters counters = counted(R"(
  .reg .f64 %fd<4>;
  mov.f64 %fd1, 0d3ff0000000000000;
  mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd2, %fd3}, {%fd1}, {%fd1}, {%fd1, %fd1};
  wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64 {%fd2, %fd3}, {%fd1}, {%fd1}, {%fd2, %fd3};)",
                                    64);
  EXPECT_EQ(counters.matrix_operations, 4u);
  EXPECT_EQ(counters.shuffles, 0u);
}

TEST(Counting, MatricesInMemory) {
  const Counters rows = counted(R"(
  mad.lo.u32 %r2, %r1, 16, 0;
  mov.u32 %r3, table;
  add.u32 %r2, %r2, %r3;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];
  stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r4};)");
  EXPECT_EQ(rows.shared_load_requests, 1u);
  EXPECT_EQ(rows.shared_load_wavefronts, 4u); // 8 rows of 16 bytes at once
  EXPECT_EQ(rows.shared_store_requests, 1u);
  EXPECT_EQ(rows.shared_store_wavefronts, 1u);
  EXPECT_EQ(rows.bank_conflicts, 0u);
  const Counters fragment = counted(R"(
  .reg .f64 %fd<2>;
  wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%fd1}, [%rd1], 4;)");
  EXPECT_EQ(fragment.global_load_requests, 1u);
  EXPECT_EQ(fragment.global_load_sectors, 8u);
  EXPECT_EQ(fragment.bytes_read, 256u);
}

// One lane copies 256 bytes to shared memory, and back to where the other half of the block's data is.
constexpr const char* bulk_copies = R"(
  .shared .align 8 .b64 full;
  .reg .b64 %token;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra $done;
  mbarrier.init.shared.b64 [full], 1;
  mbarrier.arrive.expect_tx.shared.b64 %token, [full], 256;
  mov.u32 %r2, 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [table], [%rd1], %r2, [full];
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1+1024], [table], %r2;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
$done:)";

TEST(Counting, BulkCopies) {
  const Counters counters = counted(bulk_copies);
  EXPECT_EQ(counters.global_load_requests, 1u);
  EXPECT_EQ(counters.global_load_sectors, 8u);
  EXPECT_EQ(counters.bytes_read, 256u);
  EXPECT_EQ(counters.global_store_requests, 1u);
  EXPECT_EQ(counters.global_store_sectors, 8u);
  EXPECT_EQ(counters.bytes_written, 256u);
  const machine::BusiestReaders readers = busiest(bulk_copies);
  EXPECT_EQ(readers.thread, 256u);
  EXPECT_EQ(readers.block, 256u);
  EXPECT_EQ(readers.span_of_block, 256u);
}

TEST(Counting, RatiosOfNothingAreZero) {
  const Counters nothing;
  EXPECT_EQ(nothing.simt_efficiency(), 0);
  EXPECT_EQ(nothing.sectors_per_request(), 0);
}

// Warp 1 of each block leaves out the second barrier, and ends.
TEST(Counting, ArrivalsAtBarriers) {
  const Counters c = counted(
      "bar.sync 0; bar.warp.sync -1; setp.gt.u32 %p1, %r1, 31; @%p1 bra over; bar.sync 0; over:", 64, 3);
  EXPECT_EQ(c.barriers, 6u);
  EXPECT_EQ(c.barrier_arrivals, 9u);
}

TEST(Counting, SpanOfABlock) {
  EXPECT_EQ(busiest("ld.global.f32 %r2, [%rd3];", 64, 3).span_of_block, 256u);
  EXPECT_EQ(busiest("ld.global.f32 %r2, [%rd3]; ld.global.f32 %r2, [%rd3+1024];", 64).span_of_block, 1280u);
  EXPECT_EQ(busiest("mul.wide.u32 %rd4, %r1, 16; add.s64 %rd4, %rd1, %rd4; ld.global.f32 %r2, [%rd4];")
                .span_of_block,
            500u);
  EXPECT_EQ(busiest("st.global.f32 [%rd3], 0f00000000;", 64, 3).span_of_block, 0u);
}

TEST(Counting, SumsAreOfEveryCounter) {
  Counters one, sum;
#define COUNTED(key, ...) one.key = 1;
#define COUNTED_PER_LAUNCH(...)
#define COUNTED_PER_LINE(...)
#define COUNTED_MOST(...)
#define RATIO(...)
#include "analysis/counted.def"
#undef COUNTED
  sum += one;
  sum += one;
#define COUNTED(key, ...) EXPECT_EQ(sum.key, 2u) << #key;
#include "analysis/counted.def"
#undef COUNTED
#undef COUNTED_PER_LAUNCH
#undef COUNTED_PER_LINE
#undef COUNTED_MOST
#undef RATIO
}

} // namespace
} // namespace warpfold::analysis
