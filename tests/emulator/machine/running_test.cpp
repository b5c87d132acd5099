// Kernels that run at the same time, one of which waits for what the other does.
#include "machine/address_space.hpp"
#include "machine/machine.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace warpfold::machine {
namespace {

// A kernel that looks at the word that it is given until that is no longer `awaited`.
std::string kernel(const char* name, const char* before, int awaited, const char* after) {
  return fmt::format(R"(
.visible .entry {}(.param .u64 flag)
{{
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [flag];
  {}
again:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, {};
  @%p1 bra again;
  {}
}}
)",
                     name, before, awaited, after);
}

const std::string kernels = ".version 8.0\n.target sm_80\n.address_size 64\n" +
                            kernel("waits", "st.volatile.global.u32 [%rd1], 1;", 1, "ret;") +
                            kernel("waits_without_the_first",
                                   "mov.u32 %r1, %tid.x;\n  setp.eq.u32 %p1, %r1, 0;\n  @%p1 ret;\n"
                                   "  st.volatile.global.u32 [%rd1], 1;",
                                   1, "ret;") +
                            kernel("stops", "", 0, "trap;") +
                            R"(
.visible .entry works_then_answers(.param .u64 flag)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [flag];
  mov.u32 %r1, %ctaid.x;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  mov.u32 %r2, 0;
work:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 1000000;
  @%p1 bra work;
  st.volatile.global.u32 [%rd1], 2;
  ret;
again:
  ld.volatile.global.u32 %r3, [%rd1];
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra again;
  ret;
}
)" + R"(
.shared .align 8 .b64 barrier;
.visible .entry waits_at_barrier(.param .u64 flag)
{
  .reg .pred %p<2>;
  .reg .b64 %rd<2>;
  mbarrier.init.shared.b64 [barrier], 2;
  mbarrier.arrive.shared.b64 %rd1, [barrier];
again:
  mbarrier.test_wait.shared.b64 %p1, [barrier], %rd1;
  @!%p1 bra again;
  ret;
}
)" + kernel("answers", "", 0, "st.volatile.global.u32 [%rd1], 2;\n  ret;");

// What became of a kernel that waits until another one has changed the word that both are given.
std::optional<Fault> fault_of_waiting_for(const char* other) {
  AddressSpace memory(1 << 20);
  Program program(ptx::parse(kernels), memory);
  const auto flag = reinterpret_cast<std::uint64_t>(memory.allocate(4, MemoryKind::device, "flag"));
  *reinterpret_cast<std::uint32_t*>(flag) = 0;
  const auto run = [&](const char* name) {
    return launch(*program.kernel(name), {.grid = {1, 1, 1}, .block = {1, 1, 1}},
                  std::as_bytes(std::span(&flag, 1)), {.workers = 1, .schedule = {}})
        .fault;
  };
  for (const char* name : {"waits", other}) program.kernel(name); // decoding is not for two threads at once
  std::optional<Fault> fault;
  std::thread waiting([&] { fault = run("waits"); });
  run(other);
  waiting.join();
  return fault;
}

TEST(Running, AKernelThatWaitsForAStoppedOneIsStoppedToo) {
  const std::optional<Fault> fault = fault_of_waiting_for("stops");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::Kind::waiting);
  EXPECT_TRUE(fault->follows);
  EXPECT_NE(fault->message.find("waits for memory to change, but a kernel on device 0 was stopped at"),
            std::string::npos)
      << fault->message;
}

TEST(Running, AKernelThatGetsItsAnswerGoesOnAfterAnEarlierFault) {
  ASSERT_TRUE(fault_of_waiting_for("stops"));
  forget_stopped_kernels();
  EXPECT_FALSE(fault_of_waiting_for("answers"));
}

class ValuesThatMayNotCome : public ::testing::Test {
protected:
  AddressSpace memory{1 << 20};
  Program program{ptx::parse(kernels), memory};
  std::uint64_t flag = reinterpret_cast<std::uint64_t>(memory.allocate(4, MemoryKind::device, "flag"));
  LaunchOptions options{.workers = 1, .schedule = {}, .patience = std::chrono::milliseconds(5)};

  ValuesThatMayNotCome() {
    forget_stopped_kernels();
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(flag)) = 0;
  }
  std::optional<Fault> fault_of(const char* name, unsigned blocks = 1, unsigned threads = 1) {
    return launch(*program.kernel(name), {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}},
                  std::as_bytes(std::span(&flag, 1)), options)
        .fault;
  }
};

TEST_F(ValuesThatMayNotCome, AKernelIsStoppedIfNobodyChangesMemory) {
  const std::optional<Fault> fault = fault_of("waits");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::Kind::waiting);
  EXPECT_NE(
      fault->message.find("waits for memory to change, but for 0.005 s no thread that runs has changed any"),
      std::string::npos)
      << fault->message;
}

TEST_F(ValuesThatMayNotCome, HowManyThreadsHaveEndedIsSaid) { // a barrier may be made of atomics
  const std::optional<Fault> fault = fault_of("waits_without_the_first", 1, 3);
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->message.find("has changed any; 1 of the block's 3 threads have ended"), std::string::npos)
      << fault->message;
}

TEST_F(ValuesThatMayNotCome, WhatABarrierInSharedMemoryLacksIsSaid) {
  const std::optional<Fault> fault = fault_of("waits_at_barrier");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::Kind::phase);
  EXPECT_NE(fault->message.find(
                "waits for a phase of parity 0 at a barrier in shared memory that lacks 1 arrival, and for "),
            std::string::npos)
      << fault->message;
}

TEST_F(ValuesThatMayNotCome, ABlockThatWorksMayYetWriteThem) {
  for (const unsigned workers : {1u, 2u}) {
    options.workers = workers;
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(flag)) = 0;
    EXPECT_FALSE(fault_of("works_then_answers", 2));
  }
}

TEST_F(ValuesThatMayNotCome, TheHostMayYetWriteThem) {
  options.may_be_changed = [] { return true; };
  std::thread host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(flag)) = 2;
  });
  EXPECT_FALSE(fault_of("waits"));
  host.join();
}

} // namespace
} // namespace warpfold::machine
