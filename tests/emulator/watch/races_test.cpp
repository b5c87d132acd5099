// Which pairs of accesses are races, and which are not.
#include "scene.hpp"

#include <gtest/gtest.h>

#include <set>

namespace warpfold::watch {
namespace {

using machine::AccessKind;

AccessRecord record_of(const Request& request, const machine::Block& block, const BlockOrder& order) {
  return {.block = static_cast<std::uint32_t>(block.linear_id),
          .fences = order.fences,
          .publications = order.publications,
          .warp = static_cast<std::uint8_t>(request.warp),
          .is_atomic = request.kind == AccessKind::atomic,
          .is_strong = request.kind == AccessKind::atomic,
          .width = static_cast<std::uint8_t>(request.width),
          .place = static_cast<std::uint8_t>(
              request.width < 4 ? (request.first + std::countr_zero(request.mask) * request.width) % 4 : 0)};
}

class SharedRaces : public ::testing::Test {
protected:
  Scene scene;
  SharedShadow shadow;
  BlockRecords records;
  BlockOrder order;
  BlockHistories histories{2};
  unsigned unwritten = 0;

  SharedRaces() {
    shadow.reset(scene.grid.shared_bytes() / 4, false);
    order.begin(scene.first.warps.size(), records.next());
  }
  // Enters the request and returns how many races it makes.
  unsigned races(const Request& request) {
    const std::uint32_t number = records.next();
    records.add(record_of(request, scene.first, order));
    unsigned found = 0;
    check_shared(
        shadow, records,
        Accessor{*ToldAccess(scene, scene.first, ptx::Space::shared, request), histories, order, number},
        [&](const Conflict&) { ++found; }, [&](unsigned, std::uint64_t) { ++unwritten; });
    return found;
  }
  void barrier() {
    order.barrier(records.next());
    records.forget();
  }
};

TEST_F(SharedRaces, WarpsThatWriteOneWordRace) {
  EXPECT_EQ(races({AccessKind::store, 0}), 0u);
  EXPECT_EQ(races({AccessKind::store, 1}), 1u);
}

TEST_F(SharedRaces, ReadAfterWriteOfAnotherWarpRaces) {
  races({.kind = AccessKind::store, .warp = 0, .mask = ~0u});
  EXPECT_EQ(races({.kind = AccessKind::load, .warp = 1, .mask = ~0u}), 32u);
}

TEST_F(SharedRaces, WriteAfterReadOfAnotherWarpRaces) {
  races({AccessKind::store, 0});
  barrier();
  EXPECT_EQ(races({AccessKind::load, 0}), 0u);
  EXPECT_EQ(races({AccessKind::store, 1}), 1u);
}

TEST_F(SharedRaces, BarrierOrders) {
  races({AccessKind::store, 0});
  barrier();
  EXPECT_EQ(races({AccessKind::store, 1}), 0u);
}

TEST_F(SharedRaces, ReadersDoNotRace) {
  races({AccessKind::store, 0});
  barrier();
  EXPECT_EQ(races({AccessKind::load, 0}), 0u);
  EXPECT_EQ(races({AccessKind::load, 1}), 0u);
}

TEST_F(SharedRaces, AtomicsDoNotRaceWithEachOther) {
  races({AccessKind::store, 0});
  barrier();
  EXPECT_EQ(races({AccessKind::atomic, 0}), 0u);
  EXPECT_EQ(races({AccessKind::atomic, 1}), 0u);
  EXPECT_EQ(races({AccessKind::load, 0}), 1u) << "a plain read beside an atomic";
}

TEST_F(SharedRaces, LanesOfOneWarpNeedSyncwarp) {
  races({.kind = AccessKind::store, .mask = 1, .first = 0});
  EXPECT_EQ(races({.kind = AccessKind::store, .mask = 2, .first = std::uint64_t(-4) + 0}), 1u)
      << "lane 1, same word";
}

TEST_F(SharedRaces, SyncwarpOrdersTheLanesOfItsMask) {
  races({.kind = AccessKind::store, .mask = 1});
  order.warp_barrier(0, 0b11, records.next());
  EXPECT_EQ(races({.kind = AccessKind::store, .mask = 2, .first = std::uint64_t(-4)}), 0u);
  EXPECT_EQ(races({.kind = AccessKind::store, .mask = 4, .first = std::uint64_t(-8)}), 1u)
      << "lane 2 was not in the mask";
}

TEST_F(SharedRaces, WritingTheSameValueIsHarmless) {
  const float one = 1, two = 2;
  std::memcpy(scene.first.shared.data(), &one, sizeof one); // what the first store wrote
  races({.kind = AccessKind::store, .warp = 0, .values = &one});
  EXPECT_EQ(races({.kind = AccessKind::store, .warp = 1, .values = &one}), 0u);
  EXPECT_EQ(races({.kind = AccessKind::store, .warp = 0, .values = &two}), 1u);
}

TEST_F(SharedRaces, BytesOfOneWordAreApart) {
  races({.kind = AccessKind::store, .warp = 0, .first = 0, .width = 1});
  EXPECT_EQ(races({.kind = AccessKind::store, .warp = 1, .first = 1, .width = 1}), 0u);
  EXPECT_EQ(races({.kind = AccessKind::store, .warp = 0, .first = 1, .width = 1}), 1u);
}

TEST_F(SharedRaces, UnwrittenWordIsToldOfOnce) {
  races({AccessKind::load, 0});
  EXPECT_EQ(unwritten, 1u);
  races({AccessKind::load, 1});
  EXPECT_EQ(unwritten, 1u);
}

class GlobalRaces : public ::testing::Test {
protected:
  Scene scene;
  GlobalShadow shadow{scene.memory};
  GlobalRecords records;
  BlockOrder orders[2];
  BlockHistories histories{2};
  std::uint64_t begin =
      reinterpret_cast<std::uint64_t>(scene.memory.allocate(1024, machine::MemoryKind::device, "input"));
  std::uint32_t next = 0;
  bool unfenced = false; // of the last race

  GlobalRaces() {
    records.begin_launch();
    next = records.take_chunk();
    for (BlockOrder& order : orders) order.begin(2, 1);
  }
  unsigned races(unsigned block, Request request) {
    request.first += begin;
    machine::Block& accessing = block == 0 ? scene.first : scene.second;
    AccessRecord record = record_of(request, accessing, orders[block]);
    record.moment = next;
    records.at(next) = record;
    unsigned found = 0;
    check_global(shadow, records,
                 Accessor{*ToldAccess(scene, accessing, ptx::Space::global, request), histories,
                          orders[block], next++},
                 [&](const Conflict& conflict) { ++found, unfenced = conflict.unfenced; });
    return found;
  }
};

TEST_F(GlobalRaces, BlockThatReadsWhatAnotherWroteRaces) {
  EXPECT_EQ(races(0, {.kind = AccessKind::store, .mask = ~0u}), 0u);
  EXPECT_EQ(races(1, {.kind = AccessKind::load, .mask = ~0u}), 32u);
  EXPECT_FALSE(unfenced);
}

TEST_F(GlobalRaces, BlocksThatReadDoNotRace) {
  EXPECT_EQ(races(0, {.kind = AccessKind::load, .mask = ~0u}), 0u);
  EXPECT_EQ(races(1, {.kind = AccessKind::load, .mask = ~0u}), 0u);
}

TEST_F(GlobalRaces, WholeRowIsSplitForAnAccessToOneWord) {
  races(0, {.kind = AccessKind::store, .mask = ~0u});
  EXPECT_EQ(races(1, {.kind = AccessKind::load, .mask = 1, .first = 64}), 1u) << "a word of the row";
  EXPECT_EQ(races(1, {.kind = AccessKind::load, .mask = 1, .first = 128}), 0u) << "a word behind it";
}

TEST_F(GlobalRaces, LaunchBeforeIsOver) {
  races(0, {AccessKind::store});
  if (records.begin_launch()) shadow.clear();
  next = records.take_chunk();
  EXPECT_EQ(races(1, {AccessKind::store}), 0u);
}

TEST_F(GlobalRaces, FencePublicationAndStrongReadOrderBlocks) {
  races(0, {AccessKind::store});
  orders[0].fence(0, next, true);
  orders[0].publish(0, next);
  histories.publish(0, orders[0].fences);
  orders[1].acquire(0, histories.now());
  EXPECT_EQ(races(1, {AccessKind::load}), 0u);
}

TEST_F(GlobalRaces, PublicationWithoutFenceIsSaidToBeOne) {
  races(0, {AccessKind::store});
  orders[0].publish(0, next);
  histories.publish(0, orders[0].fences);
  orders[1].acquire(0, histories.now());
  EXPECT_EQ(races(1, {AccessKind::load}), 1u);
  EXPECT_TRUE(unfenced);
}

} // namespace
} // namespace warpfold::watch
