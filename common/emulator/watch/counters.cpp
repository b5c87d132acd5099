#include "counters.hpp"

#include "machine/code.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace warpfold::watch {

namespace {

using machine::OperationCounters;

bool begins(std::string_view name, std::string_view opcode) {
  return name.starts_with(opcode) && (name.size() == opcode.size() || name[opcode.size()] == '.');
}

// Arithmetic only: a value that is moved, loaded, compared or converted has not lost or gained any digits
// yet.
bool computes_in_double(std::string_view name) {
  if (!name.ends_with(".f64")) return false;
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"add", "sub", "mul", "fma", "div", "mad"},
      [name](std::string_view opcode) { return begins(name, opcode); });
}

// A strong load may poll what others write, and how often it does depends on who came first.
bool is_weak(std::string_view load) {
  return std::ranges::none_of(
      std::initializer_list<std::string_view>{"ld.volatile", "ld.relaxed", "ld.acquire", "ld.mmio"},
      [load](std::string_view strong) { return begins(load, strong); });
}

// A generic access is charged to the space that its addresses point to.
bool went_to_shared(const OperationCounters& did) {
  return did.wavefronts > 0;
}

// Combines a bit or a number of several threads, so that enough of them add up anything.
bool is_vote(std::string_view name) {
  const bool is_barrier = begins(name, "bar") || begins(name, "barrier");
  return begins(name, "vote") || begins(name, "activemask") || begins(name, "match") ||
         begins(name, "mbarrier") || (is_barrier && name.find(".red.") != name.npos);
}

void charge_memory(Counters& to, std::string_view name, const OperationCounters& did) {
  to.bank_conflicts += did.wavefronts - did.ideal_wavefronts;
  if (begins(name, "atom") || begins(name, "red")) {
    to.atomic_requests += did.requests;
    to.atomic_operations += did.lanes;
    if (name.ends_with(".f32") || name.ends_with(".f64")) to.float_atomics += did.lanes;
    to.peer_store_sectors += did.peer_sectors;
    to.bytes_written += did.bytes;
  } else if (begins(name, "st")) {
    (went_to_shared(did) ? to.shared_store_requests : to.global_store_requests) += did.requests;
    to.shared_store_wavefronts += did.wavefronts;
    to.global_store_sectors += did.sectors;
    to.peer_store_sectors += did.peer_sectors;
    to.bytes_written += did.bytes;
  } else {
    (went_to_shared(did) ? to.shared_load_requests : to.global_load_requests) += did.requests;
    to.shared_load_wavefronts += did.wavefronts;
    to.global_load_sectors += did.sectors;
    if (is_weak(name)) to.weak_load_sectors += did.sectors;
    to.peer_load_sectors += did.peer_sectors;
    to.bytes_read += did.bytes;
  }
}

void charge(Counters& to, std::string_view name, const OperationCounters& did, bool is_instruction,
            bool begins_wait) {
  if (is_instruction) {
    to.warp_instructions += did.warps;
    to.thread_instructions += did.threads;
    if (begins(name, "shfl")) to.shuffles += did.warps;
    if (begins(name, "redux")) to.warp_reductions += did.warps;
    if (is_vote(name)) to.votes += did.warps;
    if (begins(name, "membar") || begins(name, "fence")) to.fences += did.warps;
    if (computes_in_double(name)) to.double_instructions += did.warps;
  }
  if (begins(name, "bra") || begins(name, "brx")) {
    to.branches += did.requests;
    to.divergent_branches += did.divergent;
  } else if (begins(name, "bar") || begins(name, "barrier")) {
    to.barriers += did.requests;
  } else if (did.requests) {
    charge_memory(to, name, did);
    if (begins_wait && !went_to_shared(did)) to.global_load_waits += did.requests;
  }
}

} // namespace

Counters& Counters::operator+=(const Counters& other) {
#define COUNTED(key, ...) key += other.key;
#define COUNTED_PER_LAUNCH(...)
#define COUNTED_PER_LINE(...)
#define COUNTED_MOST(...)
#define RATIO(...)
#include "counted.def"
#undef COUNTED
#undef COUNTED_PER_LAUNCH
#undef COUNTED_PER_LINE
#undef COUNTED_MOST
#undef RATIO
  return *this;
}

LaunchCounters count(const machine::LaunchRecord& record) {
  LaunchCounters result;
  const machine::Code& code = const_cast<machine::Kernel*>(record.source)->code();
  std::map<std::pair<std::uint32_t, std::uint32_t>, LineCounters> by_line; // file and line
  for (std::size_t i = 0; i < code.operations.size(); ++i) {
    const OperationCounters& did = record.counters[i];
    if (did.warps == 0 && did.requests == 0) continue;
    const ptx::Location& at = code.module->locations[code.operations[i].location];
    const auto charge_to = [&](Counters& counters) {
      charge(counters, code.names[i], did, code.is_instruction[i], code.begins_wait[i]);
    };
    charge_to(result.total);
    LineCounters& line = by_line[{at.file, at.line}];
    charge_to(line.counters);
    if (code.is_instruction[i]) line.executions = std::max(line.executions, did.warps);
  }
  for (auto& [place, line] : by_line) {
    line.line = {std::string(code.module->files[place.first]), place.second};
    result.lines.push_back(line);
  }
  return result;
}

} // namespace warpfold::watch
