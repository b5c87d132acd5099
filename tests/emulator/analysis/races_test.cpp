// Which pairs of accesses are races, and which are not.
#include "scene.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

namespace warpfold::analysis {
namespace {

using machine::AccessKind;

AccessRecord record_of(const Request& request, const machine::Block& block, const BlockOrder& order) {
  const bool is_atomic = request.kind == AccessKind::atomic;
  AccessRecord record;
  record.block = static_cast<std::uint32_t>(block.linear_id);
  record.moment = order.clock;
  record.warp = static_cast<std::uint8_t>(request.warp);
  record.is_atomic = is_atomic;
  record.strength = is_atomic ? Strength::strong : Strength::weak;
  record.scope = machine::MemoryScope::device;
  record.width = static_cast<std::uint8_t>(request.width);
  return record;
}

class SharedRaces : public ::testing::Test {
protected:
  Scene scene;
  SharedShadow shadow;
  BlockRecords records;
  BlockOrder order;
  Launches launches;
  ReleaseLogs logs;
  unsigned unwritten = 0;

  SharedRaces() {
    shadow.reset(scene.grid.shared_bytes() / 4, false);
    launches.begin(scene.grid, nullptr, [] {});
    order.begin(scene.first.warps.size(), {0, 0});
  }
  // Enters the request and returns the number of races it makes.
  unsigned races(const Request& request) {
    const std::uint32_t number = records.next();
    const AccessRecord record = record_of(request, scene.first, order);
    records.add(record);
    unsigned found = 0;
    check_shared(
        shadow, records,
        Accessor{*ToldAccess(scene, scene.first, ptx::Space::shared, request), launches, order, logs, number,
                 record},
        [&](const Conflict& conflict) { found += !conflict.is_harmless; }, [&](unsigned) { ++unwritten; });
    return found;
  }
  void barrier() {
    order.barrier();
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
  order.warp_barrier(0, 0b11);
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

TEST_F(SharedRaces, BytesOfOneWordByOneWarpAreApart) {
  races({.kind = AccessKind::store, .warp = 0, .mask = 0b1111, .first = 0, .width = 1});
  EXPECT_EQ(races({.kind = AccessKind::store, .warp = 1, .mask = 1, .first = 4, .width = 1}), 0u);
  EXPECT_EQ(races({.kind = AccessKind::store, .warp = 1, .mask = 1, .first = 3, .width = 1}), 1u);
  EXPECT_GE(races({.kind = AccessKind::load, .warp = 1, .mask = 1, .first = 0, .width = 4}), 1u);
}

TEST_F(SharedRaces, WordIsWholeAgainAfterABarrier) {
  races({.kind = AccessKind::store, .warp = 0, .mask = 0b1111, .first = 0, .width = 1});
  barrier();
  EXPECT_EQ(races({.kind = AccessKind::load, .warp = 1, .mask = 1, .first = 0, .width = 4}), 0u);
  EXPECT_EQ(races({.kind = AccessKind::store, .warp = 0, .mask = 1, .first = 2, .width = 2}), 2u);
  EXPECT_EQ(unwritten, 0u);
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
  Launches launches;
  ReleaseLogs logs;
  std::uint64_t begin =
      reinterpret_cast<std::uint64_t>(scene.memory.allocate(1024, machine::MemoryKind::device, "input"));
  std::uint32_t next = 0;
  Missing missing = Missing::order; // of the last race

  GlobalRaces() {
    launches.begin(scene.grid, nullptr, [] {});
    records.begin_launch();
    next = records.take_chunk();
    for (std::uint32_t block = 0; block < 2; ++block) orders[block].begin(2, {block, 0});
  }
  unsigned races(unsigned block, Request request, machine::MemoryScope scope = machine::MemoryScope::device) {
    request.first += begin;
    machine::Block& accessing = block == 0 ? scene.first : scene.second;
    AccessRecord record = record_of(request, accessing, orders[block]);
    record.scope = scope;
    records.at(next) = record;
    unsigned found = 0;
    check_global(shadow, records,
                 Accessor{*ToldAccess(scene, accessing, ptx::Space::global, request), launches, orders[block],
                          logs, next++, record},
                 [&](const Conflict& conflict) { ++found, missing = conflict.missing; });
    return found;
  }
  // Block 0 releases and block 1 acquires, each at its own flag or both at the same one.
  void release(std::uint64_t flag) {
    const Release released = orders[0].release(0, 1, 0);
    for (std::size_t each = 0; each <= static_cast<std::size_t>(released.level); ++each)
      launches.history_of(0).released[each] = released.moment[each];
    logs.at(flag).release(released, false);
  }
  void acquire(std::uint64_t flag) {
    orders[1].warps[0].has_read_strongly = true;
    constexpr auto device = static_cast<std::size_t>(Level::device);
    orders[1].warps[0].acquire(logs.at(flag).acquire(1, orders[1].place).from[device], 1);
  }
};

TEST_F(GlobalRaces, BlockThatReadsWhatAnotherWroteRaces) {
  EXPECT_EQ(races(0, {.kind = AccessKind::store, .mask = ~0u}), 0u);
  EXPECT_EQ(races(1, {.kind = AccessKind::load, .mask = ~0u}), 32u);
  EXPECT_EQ(missing, Missing::order);
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

TEST_F(GlobalRaces, WholeRowIsSplitForAnAccessToOneByte) {
  races(0, {.kind = AccessKind::store, .mask = ~0u});
  EXPECT_EQ(races(1, {.kind = AccessKind::load, .mask = 1, .first = 65, .width = 1}), 1u)
      << "a byte of the row";
  EXPECT_EQ(races(1, {.kind = AccessKind::load, .mask = 1, .first = 129, .width = 1}), 0u)
      << "a byte behind it";
}

TEST_F(GlobalRaces, BytesOfOneWordAreApart) {
  races(0, {.kind = AccessKind::store, .mask = 0b1111, .width = 1});
  EXPECT_EQ(races(1, {.kind = AccessKind::store, .mask = 1, .first = 4, .width = 1}), 0u);
  EXPECT_EQ(races(1, {.kind = AccessKind::store, .mask = 1, .first = 3, .width = 1}), 1u);
  EXPECT_EQ(races(1, {.kind = AccessKind::load, .mask = 1, .first = 0, .width = 4}), 3u)
      << "the fourth byte is its own";
}

TEST_F(GlobalRaces, ReadersOfAWordAreReadersOfItsBytes) {
  for (unsigned block : {0u, 1u}) races(block, {.kind = AccessKind::load, .mask = 1});
  EXPECT_EQ(races(0, {.kind = AccessKind::store, .mask = 1, .first = 1, .width = 1}), 1u)
      << "block 1 has read";
}

TEST_F(GlobalRaces, LaunchBeforeIsOver) {
  races(0, {AccessKind::store});
  shadow.begin_launch(records.begin_launch());
  next = records.take_chunk();
  EXPECT_EQ(races(1, {AccessKind::store}), 0u);
}

TEST_F(GlobalRaces, ReleaseAndAcquireOrderBlocks) {
  races(0, {AccessKind::store});
  orders[0].fence(0, 1, Level::device);
  release(8);
  acquire(8);
  EXPECT_EQ(races(1, {AccessKind::load}), 0u);
}

TEST_F(GlobalRaces, AtAnotherAddressTheyOrderNothing) {
  races(0, {AccessKind::store});
  orders[0].fence(0, 1, Level::device);
  release(8);
  acquire(16);
  EXPECT_EQ(races(1, {AccessKind::load}), 1u);
  EXPECT_EQ(missing, Missing::address);
}

TEST_F(GlobalRaces, PublicationWithoutFenceIsSaidToBeOne) {
  races(0, {AccessKind::store});
  launches.history_of(0).published = orders[0].clock;
  launches.history_of(0).published_by = 7; // another operation
  orders[1].warps[0].has_read_strongly = true;
  EXPECT_EQ(races(1, {AccessKind::load}), 1u);
  EXPECT_EQ(missing, Missing::fence);
}

TEST_F(GlobalRaces, AStoreDoesNotPublishItself) {
  races(0, {AccessKind::store});
  launches.history_of(0).published = orders[0].clock;
  launches.history_of(0).published_by = scene.operation.index;
  orders[1].warps[0].has_read_strongly = true;
  EXPECT_EQ(races(1, {AccessKind::load}), 1u);
  EXPECT_EQ(missing, Missing::order);
}

TEST_F(GlobalRaces, AtomicsOfBlockScopeRaceBetweenBlocks) {
  races(0, {AccessKind::atomic}, machine::MemoryScope::block);
  EXPECT_EQ(races(1, {AccessKind::atomic}), 1u);
  EXPECT_EQ(missing, Missing::scope);
}

TEST_F(GlobalRaces, AReadersOwnWriteDoesNotHideAnother) {
  races(0, {.kind = AccessKind::load, .warp = 0, .mask = 1});
  races(0, {.kind = AccessKind::load, .warp = 1, .mask = 1});
  EXPECT_EQ(races(0, {.kind = AccessKind::store, .warp = 1, .mask = 1}), 1u);
}

TEST_F(GlobalRaces, OfManyReadersOneIsKeptThatIsNotTheWriter) {
  for (unsigned block : {0u, 0u, 1u, 0u, 1u, 0u}) races(block, {AccessKind::load});
  EXPECT_GE(races(0, {AccessKind::store}), 1u);
}

TEST_F(GlobalRaces, WholeRowsKeepTwoReaders) {
  for (unsigned block : {0u, 1u, 0u}) races(block, {.kind = AccessKind::load, .mask = ~0u});
  EXPECT_EQ(races(0, {.kind = AccessKind::store, .mask = ~0u}), 32u) << "block 1 has read";
}

// One worker accesses whole rows while another accesses words of them. The two come to each row together; a
// store or a second reader that was entered for a row must be in the row's words afterwards.
TEST_F(GlobalRaces, SplittingKeepsWhatAnotherWorkerEntersMeanwhile) {
  constexpr std::uint64_t rows = 50'000, row_words = GlobalShadow::row_words;
  const Cell oldest = cell(records.first(), 0), reader = cell(next, 0), mine = cell(next + 1, 0);
  records.at(next).width = records.at(next + 1).width = GlobalShadow::word_bytes;
  const auto no = [](auto...) { return false; };
  const auto yes = [](auto...) { return true; };
  for (const bool is_store : {true, false}) { // or the second reader of a row
    GlobalShadow wide{0, rows * GlobalShadow::row_bytes};
    for (std::uint64_t row = 0; row < rows && !is_store; ++row)
      ASSERT_TRUE(wide.enter_row(row * row_words, false, reader, oldest, true, no, yes));
    std::atomic<std::uint64_t> arrived = 0;
    const auto together = [&](std::uint64_t row) {
      ++arrived;
      for (unsigned spins = 1; arrived < 2 * (row + 1); ++spins)
        if (spins % 1024 == 0) std::this_thread::yield();
    };
    std::thread splits([&] {
      for (std::uint64_t row = 0; row < rows; ++row)
        together(row), wide.split_row(row * row_words, records, oldest);
    });
    std::vector<std::uint64_t> words;
    for (std::uint64_t row = 0; row < rows; ++row) {
      together(row);
      if (wide.enter_row(row * row_words, is_store, mine, oldest, true, no, yes))
        words.push_back(row * row_words);
    }
    splits.join();
    std::uint64_t lost = 0;
    for (std::uint64_t word : words)
      lost += is_store ? wide.last(word) != (mine | GlobalShadow::wrote) : wide.read(word) != mine;
    EXPECT_EQ(lost, 0u) << "of " << words.size() << (is_store ? " stores" : " second readers");
    EXPECT_GT(words.size(), 0u) << "the splits always came first";
  }
}

TEST_F(GlobalRaces, AtomicOfAnotherBlockIsKeptBesideOnesOwn) {
  races(0, {AccessKind::atomic});
  races(1, {AccessKind::atomic});
  EXPECT_EQ(races(1, {AccessKind::load}), 1u) << "a plain read beside block 0's atomic";
}

} // namespace
} // namespace warpfold::analysis
