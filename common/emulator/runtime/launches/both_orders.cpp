#include "runtime/launches/both_orders.hpp"

#include "runtime/memory/ipc.hpp"
#include "runtime/memory/memory_contents.hpp"

#include <bit>

namespace warpfold::runtime {
namespace {

using machine::MemoryKind;

machine::Schedule opposite_of(const machine::Schedule& schedule) {
  using enum machine::Schedule::Order;
  return {.order = schedule.order == backwards ? forwards : backwards};
}

// Others could see or change what is put back.
bool is_of_this_device_alone(const machine::AddressSpace& memory) {
  return memory.devices() == 1 && memory.of_host() == 0 && !has_shared_any();
}

} // namespace

std::vector<analysis::Hazard> SecondOrder::run(machine::Kernel& kernel, const machine::LaunchShape& shape,
                                               std::span<const std::byte> parameters,
                                               machine::LaunchOptions options) {
  has_run_ = false;
  Past& past = past_[&kernel];
  ++past.launches;
  if (past.was_too_slow || (past.launches > first_launches && !std::has_single_bit(past.launches))) return {};
  const machine::AddressSpace& memory = kernel.program().memory();
  if (!is_of_this_device_alone(memory) || machine::calls_runtime(kernel)) return {};
  MemoryContents contents(memory, {MemoryKind::device, MemoryKind::variable});
  if (contents.bytes() > most_bytes) return {};
  contents.keep();
  if (!checker_) checker_ = std::make_unique<analysis::Checker>(memory, recorder_);
  checker_->choose({.races = true, .initialisation = false});
  options.watcher = checker_.get();
  options.prints = false;
  if (options.time_limit.count() == 0 || options.time_limit > time_limit) options.time_limit = time_limit;
  std::vector<analysis::Hazard> found;
  const auto run_in = [&](const machine::Schedule& schedule, const char* how) {
    options.schedule = schedule;
    machine::LaunchRecord record = machine::launch(kernel, shape, parameters, options);
    contents.put_back();
    if (record.fault) machine::forget_stopped_kernels();
    for (analysis::Hazard& hazard : recorder_.take_hazards()) {
      hazard.message += how;
      found.push_back(std::move(hazard));
    }
    return record;
  };
  const machine::Schedule usual = options.schedule;
  const machine::LaunchRecord opposite =
      run_in(opposite_of(usual), " (with blocks, warps and branches in the opposite order)");
  has_run_ = !opposite.fault;
  past.was_too_slow = opposite.fault.has_value();
  if (has_run_ && opposite.looked)
    run_in({.order = usual.order, .seed = usual.seed, .alternates = true},
           " (with warps that take turns at each atomic and each volatile or atomic load)");
  return found;
}

} // namespace warpfold::runtime
