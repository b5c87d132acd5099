#include "both_orders.hpp"

#include "ipc.hpp"

#include <bit>
#include <cstring>

namespace warpfold::runtime {
namespace {

using machine::MemoryKind;

// The contents of the memory that a kernel may write to.
class Contents {
public:
  explicit Contents(const machine::AddressSpace& memory) {
    const auto add = [this](const machine::Allocation& allocation) {
      parts_.push_back({allocation.begin, allocation.size});
      bytes_ += allocation.size;
    };
    for (const MemoryKind kind : {MemoryKind::device, MemoryKind::variable}) memory.each_live(kind, add);
  }
  std::uint64_t bytes() const { return bytes_; }
  void keep() {
    kept_.resize(bytes_);
    std::byte* to = kept_.data();
    for (const auto& [begin, size] : parts_) {
      std::memcpy(to, reinterpret_cast<const void*>(begin), size);
      to += size;
    }
  }
  void put_back() const {
    const std::byte* from = kept_.data();
    for (const auto& [begin, size] : parts_) {
      std::memcpy(reinterpret_cast<void*>(begin), from, size);
      from += size;
    }
  }

private:
  struct Part {
    std::uint64_t begin, size;
  };
  std::vector<Part> parts_;
  std::uint64_t bytes_ = 0;
  std::vector<std::byte> kept_;
};

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
  Contents contents(memory);
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
