// Kernels that run at the same time, one of which waits for what the other does.
#include "machine/address_space.hpp"
#include "machine/machine.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

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

const std::string kernels = ".version 8.0\n.target sm_75\n.address_size 64\n" +
                            kernel("waits", "st.volatile.global.u32 [%rd1], 1;", 1, "ret;") +
                            kernel("stops", "", 0, "trap;") +
                            kernel("answers", "", 0, "st.volatile.global.u32 [%rd1], 2;\n  ret;");

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

} // namespace
} // namespace warpfold::machine
