#include "both_orders.hpp"

#include "ipc.hpp"
#include "memory_contents.hpp"

#include <bit>

namespace warpfold::runtime {
namespace {

using machine::MemoryKind;

machine::Schedule other_than(const machine::Schedule& schedule) {
  using enum machine::Schedule::Order;
  return {schedule.order == backwards ? forwards : backwards, 0};
}

// Others could see or change what is put back.
bool is_of_this_device_alone(const machine::AddressSpace& memory) {
  return memory.devices() == 1 && memory.of_host() == 0 && !has_shared_any();
}

} // namespace

std::vector<watch::Hazard> SecondOrder::run(machine::Kernel& kernel, const machine::LaunchShape& shape,
                                            std::span<const std::byte> parameters,
                                            machine::LaunchOptions options) {
  has_run_ = false;
  Past& past = past_[&kernel];
  ++past.launches;
  if (past.was_too_slow || (past.launches > first_launches && !std::has_single_bit(past.launches))) return {};
  const machine::AddressSpace& memory = kernel.program().memory();
  if (!is_of_this_device_alone(memory) || machine::allocates(kernel)) return {};
  MemoryContents contents(memory, {MemoryKind::device, MemoryKind::variable});
  if (contents.bytes() > most_bytes) return {};
  contents.keep();
  if (!checker_) checker_ = std::make_unique<watch::Checker>(memory, recorder_);
  checker_->choose({.races = true, .initialisation = false});
  options.watcher = checker_.get();
  options.schedule = other_than(options.schedule);
  options.prints = false;
  if (options.time_limit.count() == 0 || options.time_limit > time_limit) options.time_limit = time_limit;
  const machine::LaunchRecord record = machine::launch(kernel, shape, parameters, options);
  contents.put_back();
  has_run_ = !record.fault;
  past.was_too_slow = record.fault.has_value();
  if (record.fault) machine::forget_stopped_kernels();
  std::vector<watch::Hazard> found = recorder_.take_hazards();
  for (watch::Hazard& hazard : found)
    hazard.message += " (with blocks, warps and branches in the opposite order)";
  return found;
}

} // namespace warpfold::runtime
