// A launch in a second order, for the races that the first does not show: what one block or warp finds may
// depend on who came first, and then an order that the program enforces on one path hides that it enforces
// none on the other.
//
// The second run comes before the first. Its blocks, warps and sides of branches take their turns the other
// way round, nothing of it is counted, and then device memory is put back.
#pragma once

#include "analysis/checker.hpp"
#include "machine/machine.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace warpfold::runtime {

// Which launches run twice. Of a kernel that waits for what others write, one order shows least: which thread
// comes first, and whom it meets, is then up to the machine.
enum class BothOrders : std::uint8_t { off, waiting, on };

// Of one device, whose launches come one after another.
class SecondOrder {
public:
  // What is found in the other order; nothing if this launch is not run twice. That depends on the kernel (no
  // malloc or free), on the memory (only the device's own, at most `most_bytes`), and on how often and how
  // fast the kernel ran before.
  std::vector<analysis::Hazard> run(machine::Kernel& kernel, const machine::LaunchShape& shape,
                                    std::span<const std::byte> parameters, machine::LaunchOptions options);
  bool has_run() const { return has_run_; } // the last launch, to its end

private:
  static constexpr std::uint64_t most_bytes = 256 << 20;
  // Of each kernel the first launches are run twice, and then those whose number is a power of two.
  static constexpr std::uint64_t first_launches = 8;
  static constexpr std::chrono::milliseconds time_limit{2000};

  analysis::Recorder recorder_;
  std::unique_ptr<analysis::Checker> checker_;
  struct Past {
    std::uint64_t launches = 0;
    bool was_too_slow = false;
  };
  std::map<const machine::Kernel*, Past> past_;
  bool has_run_ = false;
};

} // namespace warpfold::runtime
