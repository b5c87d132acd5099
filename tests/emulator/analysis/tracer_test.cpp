// Which launch the tracer puts an event into.
#include "analysis/several.hpp"
#include "analysis/tracer.hpp"
#include "machine/address_space.hpp"
#include "scene.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

namespace warpfold::analysis {
namespace {

class TraceOfDevices : public ::testing::Test {
protected:
  Scene scenes[2]; // a launch on each device
  Tracer tracer{scenes[0].memory, 0};

  TraceOfDevices() {
    scenes[1].grid.device = 1;
    scenes[0].memory.share_out(2);
  }

  void begin(int device, std::uint64_t call) {
    Tracer::begins_next(call);
    tracer.launch_begin(scenes[device].grid);
  }
  void store(int device, unsigned times = 1) {
    Scene& scene = scenes[device];
    const ToldAccess told(scene, scene.first, ptx::Space::shared, {machine::AccessKind::store});
    for (unsigned i = 0; i < times; ++i) tracer.access(*told);
  }
  // Device and number of events of each launch.
  std::vector<std::pair<int, std::size_t>> told() const {
    std::vector<std::pair<int, std::size_t>> found;
    const auto trace = nlohmann::json::parse(tracer.json());
    for (const auto& launch : trace["launches"])
      found.emplace_back(launch["device"], launch["events"].size());
    return found;
  }
  using Told = std::vector<std::pair<int, std::size_t>>;
};

TEST_F(TraceOfDevices, ALaunchThatEndsLeavesThoseOfOtherDevicesAlone) {
  begin(0, 1);
  begin(1, 2);
  store(0, 2);
  tracer.launch_end(scenes[0].grid);
  store(1, 3);
  store(0);
  tracer.launch_end(scenes[1].grid);
  EXPECT_EQ(told(), (Told{{0, 2}, {1, 3}}));
}

TEST_F(TraceOfDevices, LaunchesThatRunAtTheSameTimeDoNotMeet) {
  constexpr unsigned times = 2000;
  std::vector<std::thread> threads;
  for (int device = 0; device < 2; ++device) {
    threads.emplace_back([this, device] {
      for (std::uint64_t i = 0; i < 4; ++i) {
        begin(device, 2 * i + static_cast<std::uint64_t>(device));
        store(device, times);
        tracer.launch_end(scenes[device].grid);
      }
    });
  }
  for (auto& each : threads) each.join();
  EXPECT_EQ(
      told(),
      (Told{{0, times}, {1, times}, {0, times}, {1, times}, {0, times}, {1, times}, {0, times}, {1, times}}));
}

TEST_F(TraceOfDevices, TheHostsCallsGiveTheOrderAndNotWhoBegins) {
  begin(1, 2);
  begin(0, 1);
  tracer.launch_end(scenes[0].grid);
  begin(0, 3);
  EXPECT_EQ(told(), (Told{{0, 0}, {1, 0}, {0, 0}}));
}

TEST_F(TraceOfDevices, EachDeviceHasRoomForItsFirstLaunches) {
  for (std::uint64_t i = 0; i <= Tracer::most_launches; ++i) {
    begin(0, i);
    tracer.launch_end(scenes[0].grid);
  }
  begin(1, 100);
  EXPECT_EQ(told().size(), Tracer::most_launches + 1);
  EXPECT_EQ(told().back().first, 1);
  EXPECT_TRUE(nlohmann::json::parse(tracer.json())["launches_left_out"]);
}

TEST_F(TraceOfDevices, WhatRunsDuringAResetIsForgotten) {
  begin(0, 1);
  tracer.reset();
  store(0);
  EXPECT_TRUE(told().empty());
}

TEST_F(TraceOfDevices, ARequestToSeveralAllocationsIsToldOfEach) {
  machine::AddressSpace& memory = scenes[0].memory;
  const auto one =
      reinterpret_cast<std::uint64_t>(memory.allocate(64, machine::MemoryKind::device, "one", 0));
  const auto other =
      reinterpret_cast<std::uint64_t>(memory.allocate(64, machine::MemoryKind::device, "other", 1));
  begin(0, 1);
  const ToldAccess told(scenes[0], scenes[0].first, ptx::Space::global,
                        {machine::AccessKind::load, 0, 3, one + 8, static_cast<std::uint32_t>(other - one)});
  tracer.access(*told);
  const auto launch = nlohmann::json::parse(tracer.json())["launches"][0];
  const auto &events = launch["events"], &arrays = launch["arrays"];
  ASSERT_EQ(events.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(events[i]["lanes"], 1 << i);
    EXPECT_EQ(events[i]["offsets"], nlohmann::json::array({8}));
    const std::string name = arrays[events[i]["array"].get<std::size_t>()]["name"];
    EXPECT_TRUE(name.starts_with(i ? "other" : "one")) << name;
  }
}

TEST(TraceOfOneDevice, NamesNoDevice) {
  Scene scene;
  Tracer tracer(scene.memory, 0);
  tracer.launch_begin(scene.grid);
  EXPECT_FALSE(nlohmann::json::parse(tracer.json())["launches"][0].contains("device"));
}

// What a block of a cluster does that stores a pair, waits, and reads that of the other block; and a volatile
// load, whose name has ".v" in it as well.
TEST(TraceOfACluster, TellsOfPairsAndOtherBlocks) {
  machine::AddressSpace memory(1 << 20);
  machine::Program program(ptx::parse(R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry test(.param .u64 data)
{
  .reg .b32 %r<8>;
  .shared .align 8 .b8 pair[8];
  mov.u32 %r1, pair;
  mov.u32 %r2, %cluster_ctarank;
  add.s32 %r3, %r2, 7;
  st.shared.v2.u32 [%r1], {%r2, %r3};
  barrier.cluster.arrive;
  barrier.cluster.wait;
  xor.b32 %r4, %r2, 1;
  mapa.shared::cluster.u32 %r5, %r1, %r4;
  ld.shared::cluster.v2.u32 {%r6, %r7}, [%r5];
  ld.volatile.shared.u32 %r6, [%r1];
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}
)"),
                           memory);
  Tracer tracer(memory, 0);
  const std::uint64_t data = 0;
  const machine::LaunchRecord record =
      machine::launch(*program.kernel("test"), {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}},
                      std::as_bytes(std::span(&data, 1)), {.workers = 1, .watcher = &tracer, .schedule = {}});
  ASSERT_FALSE(record.fault) << record.fault->message;
  const auto launch = nlohmann::json::parse(tracer.json())["launches"][0];
  std::vector<std::string> told;
  for (const auto& event : launch["events"]) {
    std::string words = event["at"];
    if (event.contains("array"))
      words += " " + launch["arrays"][event["array"].get<std::size_t>()]["name"].get<std::string>() + ", " +
               std::to_string(event["elements"].get<int>());
    if (event.contains("bits")) words += ": " + event["bits"].dump();
    told.push_back(words);
  }
  EXPECT_EQ(told,
            (std::vector<std::string>{"store pair, 2: [0,7]", "cluster_wait", "load pair of rank 1, 2: [1,8]",
                                      "load pair, 1", "cluster_wait"}));
}

// Beside the checks, a tracer must not keep them from what they are told.
TEST(CheckedAndTraced, BothAreToldOfAsynchronousCopies) {
  struct Told final : machine::Watcher {
    std::string of;
    void launch_begin(const machine::Grid&) override {}
    void launch_end(const machine::Grid&) override {}
    void block_begin(const machine::Block&) override {}
    void block_end(const machine::Block&) override {}
    void access(const machine::Access&) override {}
    void bad_access(const machine::Warp&, const machine::Operation&, const machine::Fault&) override {}
    void fence(const machine::Warp&, const machine::Operation&, machine::MemoryScope) override {}
    void copy_begins(const machine::Warp&, const machine::Operation&, const std::uint64_t*,
                     std::uint32_t width) override {
      of += "begins " + std::to_string(width);
    }
    void copies_committed(const machine::Warp&) override { of += ", committed"; }
    void copies_waited_for(const machine::Warp&, std::uint32_t left) override {
      of += ", waited " + std::to_string(left);
    }
    void barrier(const machine::Block&, const machine::Operation&, unsigned, bool) override {}
    void warp_barrier(const machine::Warp&, const machine::Operation&, std::uint32_t) override {}
    void notice(const machine::Warp&, const machine::Operation&, machine::Notice, std::uint32_t,
                const machine::Operation*) override {}
  } first, second;
  Scene scene;
  Several both({&first, &second});
  machine::Watcher& watcher = both;
  const machine::Warp& warp = scene.first.warps[0];
  const std::uint64_t offsets[machine::warp_lanes] = {};
  watcher.copy_begins(warp, scene.operation, offsets, 16);
  watcher.copies_committed(warp);
  watcher.copies_waited_for(warp, 1);
  EXPECT_EQ(first.of, "begins 16, committed, waited 1");
  EXPECT_EQ(second.of, first.of);
}

} // namespace
} // namespace warpfold::analysis
