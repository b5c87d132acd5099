// The host's own loads and stores in memory that work in flight may access.
#include "runtime/ordering/ordering_state.hpp"

#include "runtime/devices/devices.hpp"
#include "runtime/reporting/call_sites.hpp"
#include "runtime/reporting/errors.hpp"
#include "runtime/reporting/host_faults.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace warpfold::runtime::ordering {

namespace {

// The instruction and the calls around it, without the handler's.
std::vector<std::uint64_t> frames_of(const HostFault& fault) {
  std::vector<std::uint64_t> frames{fault.at};
  bool inside = false;
  for (int i = 0; i < fault.frame_count; ++i) {
    const auto frame = reinterpret_cast<std::uint64_t>(fault.frames[i]);
    if (inside) frames.push_back(frame - 1);
    inside |= frame == fault.at;
  }
  return frames;
}

BusyRange busy(const TouchedRange& range) {
  constexpr std::uint64_t page = 4096;
  BusyRange busy{.begin = range.begin, .end = range.end};
  busy.written = range.touch == Touch::write || range.touch == Touch::strong_write;
  busy.first_page = range.begin / page * page;
  busy.pages_end = (range.end + page - 1) / page * page;
  const auto allocation = Runtime::get().memory.find(range.begin);
  if (!allocation) return {};                                // freed in the meantime
  if (allocation->kind == machine::MemoryKind::registered) { // other memory may surround it
    busy.first_page = std::max(busy.first_page, (allocation->begin + page - 1) / page * page);
    busy.pages_end = std::min(busy.pages_end, allocation->end() / page * page);
  }
  return busy;
}

void report_host(State& state, const HostFault& fault, const Operation& earlier, const TouchedRange& other) {
  Operation host;
  host.frames = frames_of(fault);
  if (fault.by) // the call that issued it, which is on another thread's stack
    std::ranges::copy(fault.by->operation.frames, std::back_inserter(host.frames));
  host.name = fault.by ? fmt::format("the host function in {}", fault.by->operation.where) : "the host";
  if (!is_new(state, site_of(earlier), site_of(host), fault.is_write ? "writes" : "reads")) return;
  const bool wrote = other.touch == Touch::write || other.touch == Touch::strong_write;
  // A host function may call no function of CUDA, and so cannot wait itself.
  add(fault.by ? HazardCause::streams_not_ordered : HazardCause::not_waited_for,
      fmt::format("{} {} {} while {} in {} may still {} it", host.name, fault.is_write ? "writes" : "reads",
                  place_of(fault.address), earlier.name, earlier.where, wrote ? "write" : "read"),
      &host, &earlier);
}

void report_device_memory(State& state, const HostFault& fault) {
  const std::vector<std::uint64_t> frames = frames_of(fault);
  if (!is_new(state, fmt::format("{:x}", fault.at), "", fault.is_write ? "writes" : "reads")) return;
  const std::string message =
      fmt::format("the host {} device memory at 0x{:x}: {}", fault.is_write ? "writes" : "reads",
                  fault.address, place_of(fault.address));
  analysis::Hazard hazard{HazardKind::host_access, HazardCause::device_memory_on_host, message};
  hazard.where = line_of(frames, "");
  const Options& options = Runtime::get().options;
  if (!options.check_races && !options.check_initialisation) {
    const std::string where =
        hazard.where.line ? fmt::format("{}:{}: ", hazard.where.file, hazard.where.line) : std::string();
    say(fmt::format("{}{}; copy it with cudaMemcpy", where, message));
  }
  Runtime::get().recorder.add(std::move(hazard));
}

} // namespace

// Strong accesses are intended to meet the host's.
void close_what_is_in_flight(State& state, const analysis::Clock* view) {
  std::vector<BusyRange> ranges;
  state.order.each_in_flight(view, [&](const Operation& operation, const TouchedRange& range) {
    if (range.touch == Touch::strong_read || range.touch == Touch::strong_write) return;
    BusyRange here = busy(range);
    here.actor = operation.actor, here.number = operation.number;
    if (here.first_page >= here.pages_end) return;
    if (ranges.size() == most_closed) return report_not_checked(state, "the host", &operation);
    ranges.push_back(here);
  });
  if (ranges.empty() && !state.closed) return;
  state.closed = !ranges.empty();
  close_to_host(std::move(ranges));
}

void open_to_all(State& state) {
  if (std::exchange(state.closed, false)) close_to_host({});
}

const Current* work_of_thread() {
  return current;
}

bool watches_host() {
  const Runtime& runtime = Runtime::get();
  return is_on() && (runtime.memory.of_host() != 0 || runtime.registry.has_managed());
}

void note_host_accesses() {
  State& state = State::get();
  std::lock_guard lock(state.mutex); // whoever did it cannot end meanwhile
  const std::vector<HostFault> faults = take_host_faults();
  for (const HostFault& fault : faults) {
    if (fault.of_device) {
      report_device_memory(state, fault);
      continue;
    }
    bool is_reported = false;
    state.order.each_in_flight(fault.by ? &fault.by->operation.view : nullptr,
                               [&](const Operation& operation, const TouchedRange& range) {
                                 const bool wrote = range.touch == Touch::write;
                                 if (is_reported || fault.address < range.begin ||
                                     fault.address >= range.end || !(fault.is_write || wrote))
                                   return;
                                 if (operation.actor != fault.actor || operation.number != fault.number)
                                   return;
                                 is_reported = true;
                                 if (!range.is_exact)
                                   return report_not_checked(state, "the host", &operation);
                                 report_host(state, fault, operation, range);
                                 if (current && fault.by == current)
                                   current->met.emplace(operation.actor, operation.number);
                               });
  }
  if (faults.size() < most_faults) return;
  Operation last;
  last.frames = frames_of(faults.back());
  report_not_checked(state, "the host", &last);
}

} // namespace warpfold::runtime::ordering
