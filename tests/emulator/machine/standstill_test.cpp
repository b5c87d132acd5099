// Launches that never end although their threads do more than wait, and such as only take long.
#include "machine/address_space.hpp"
#include "machine/machine.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>

namespace warpfold::machine {
namespace {

// A kernel that repeats `body` as long as %p1 is true after it. It is given the address of four words, which
// are 0 at first; %r1 is the thread's number, and %r2 the block's.
std::string kernel(const char* name, const char* body) {
  return fmt::format(R"(
.visible .entry {}(.param .u64 words)
{{
  .reg .pred %p<4>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  .shared .align 4 .b8 round[4];
  ld.param.u64 %rd1, [words];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, 0;
  mov.u64 %rd2, %clock64;
again:
  {}
  @%p1 bra again;
  ret;
}}
)",
                     name, body);
}

const std::string waiting_kernels =
    ".version 8.0\n.target sm_80\n.address_size 64\n" +
    // Stores what is there already, and passes barriers.
    kernel("repeats", "mov.u32 %r4, 7; st.shared.u32 [round], %r4; bar.sync 0;"
                      "mov.u32 %r5, 0; st.global.u32 [%rd1], %r5; bar.sync 0;"
                      "ld.global.u32 %r6, [%rd1+4]; setp.eq.u32 %p1, %r6, 0;") +
    // The same with a vector, and a poll by atomics.
    kernel("repeats_vectors", "mov.u32 %r5, 0; st.global.v2.u32 [%rd1], {%r5, %r5};"
                              "atom.global.add.u32 %r6, [%rd1+8], 0; setp.eq.u32 %p1, %r6, 0;") +
    kernel("strides_by_nothing", "add.u32 %r3, %r3, 0; setp.lt.u32 %p1, %r3, 9;") +
    // Changes a word in each round, and changes it back.
    kernel("swings", "atom.global.xor.b32 %r5, [%rd1], 1; setp.lt.u32 %p1, %r5, 9;") +
    kernel("counts_in_memory", "bar.sync 0; ld.global.u32 %r4, [%rd1]; bar.sync 0; add.u32 %r5, %r4, 1;"
                               "st.global.u32 [%rd1], %r5; setp.lt.u32 %p1, %r5, 8000000;") +
    kernel("counts_in_a_register", "bar.sync 0; mov.u32 %r5, 0; st.global.u32 [%rd1], %r5;"
                                   "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 8000000;") +
    kernel("waits_for_the_clock", "mov.u64 %rd3, %clock64; sub.u64 %rd4, %rd3, %rd2; mov.u64 %rd3, 0;"
                                  "setp.lt.u64 %p1, %rd4, 1500000000; mov.u64 %rd4, 0; bar.sync 0;") +
    // Block 0 waits for the last one, with a plain load and a barrier.
    kernel("waits_for_the_last_block",
           "setp.eq.u32 %p2, %r2, 2; @%p2 st.global.u32 [%rd1+4], %r2; bar.sync 0;"
           "ld.global.u32 %r6, [%rd1+4]; setp.eq.u32 %p1, %r6, 0;");

// Blocks that take turns with others although no time slice of theirs runs out.
const std::string counts_for_the_last_block =
    kernel("counts_for_the_last_block",
           "setp.eq.u32 %p2, %r2, 2; @%p2 st.global.u32 [%rd1+4], %r2; atom.global.add.u32 %r5, [%rd1], 1;"
           "bar.sync 0; atom.global.add.u32 %r6, [%rd1+4], 0; setp.eq.u32 %p1, %r6, 0; bar.sync 0;");

class Standstill : public ::testing::Test {
protected:
  AddressSpace memory{1 << 20};
  Program program{ptx::parse(waiting_kernels + counts_for_the_last_block), memory};
  std::uint64_t words = reinterpret_cast<std::uint64_t>(memory.allocate(16, MemoryKind::device, "words"));
  LaunchOptions options{.workers = 1, .schedule = {}, .patience = std::chrono::milliseconds(100)};

  std::optional<Fault> fault_of(const char* name, unsigned blocks = 3, unsigned threads = 64) {
    std::memset(reinterpret_cast<void*>(words), 0, 16);
    return launch(*program.kernel(name), {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}},
                  std::as_bytes(std::span(&words, 1)), options)
        .fault;
  }
};

TEST_F(Standstill, ThreadsThatRepeatTheirStepsAreStoppedInEveryOrder) {
  using Order = Schedule::Order;
  for (const char* name : {"repeats", "repeats_vectors", "strides_by_nothing"})
    for (const Schedule schedule :
         {Schedule{}, Schedule{.order = Order::backwards}, Schedule{.order = Order::shuffled, .seed = 5}}) {
      options.schedule = schedule;
      options.workers = 1 + (schedule.order == Order::shuffled);
      const std::optional<Fault> fault = fault_of(name);
      ASSERT_TRUE(fault);
      if (std::string(name) == "repeats_vectors") { // it polls: the wait may be what is noticed first
        EXPECT_EQ(fault->kind, Fault::Kind::waiting) << fault->message;
        continue;
      }
      EXPECT_EQ(fault->kind, Fault::Kind::endless) << fault->message;
      EXPECT_NE(fault->message.find("repeats the same steps for ever: for 0.1 s"), std::string::npos)
          << fault->message;
    }
}

TEST_F(Standstill, ThreadsThatGetOnAreNot) {
  for (const char* name : {"counts_in_memory", "counts_in_a_register", "waits_for_the_clock"})
    for (const unsigned workers : {1u, 2u}) {
      options.workers = workers;
      const auto begin = std::chrono::steady_clock::now();
      const std::optional<Fault> fault = fault_of(name, 1);
      EXPECT_FALSE(fault) << fault->message;
      EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(700)) << name;
    }
}

TEST_F(Standstill, ABlockThatRepeatsItsStepsLetsTheOthersRun) {
  for (const unsigned workers : {1u, 2u}) {
    options.workers = workers;
    EXPECT_FALSE(fault_of("waits_for_the_last_block"));
  }
}

TEST_F(Standstill, ABlockThatLooksAgainAndAgainLetsTheOthersRun) {
  options.step_limit = 1'000'000; // far more than it needs
  for (const Schedule::Order order : {Schedule::Order::forwards, Schedule::Order::shuffled}) {
    options.schedule = {.order = order, .seed = 3};
    const std::optional<Fault> fault = fault_of("counts_for_the_last_block");
    EXPECT_FALSE(fault) << fault->message;
  }
}

// Memory that changes and changes back is not looked through: that takes the limit of steps.
TEST_F(Standstill, MemoryThatSwingsIsNoStandstill) {
  options.step_limit = 20'000'000;
  const std::optional<Fault> fault = fault_of("swings");
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->message.find("without coming to an end"), std::string::npos) << fault->message;
}

TEST_F(Standstill, WhatTheHostMayYetChangeIsWaitedFor) {
  options.may_be_changed = [] { return true; };
  options.time_limit = std::chrono::seconds(2);
  const std::optional<Fault> fault = fault_of("repeats");
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->message.find("has not come to an end after "), std::string::npos) << fault->message;
}

} // namespace
} // namespace warpfold::machine
