#include "counters.hpp"

#include "machine/code.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace warpfold::watch {

namespace {

using machine::Tally;

bool begins(std::string_view name, std::string_view opcode) {
  return name.starts_with(opcode) && (name.size() == opcode.size() || name[opcode.size()] == '.');
}

// A generic access is charged to the space that its addresses pointed to.
bool went_to_shared(const Tally& tally) {
  return tally.wavefronts > 0;
}

void charge_memory(Counters& to, std::string_view name, const Tally& tally) {
  to.bank_conflicts += tally.wavefronts - tally.ideal_wavefronts;
  if (begins(name, "atom") || begins(name, "red")) {
    to.atomic_requests += tally.requests;
    to.atomic_operations += tally.lanes;
    if (!went_to_shared(tally)) to.bytes_written += tally.bytes;
  } else if (begins(name, "st")) {
    (went_to_shared(tally) ? to.shared_store_requests : to.global_store_requests) += tally.requests;
    to.shared_store_wavefronts += tally.wavefronts;
    to.global_store_sectors += tally.sectors;
    if (!went_to_shared(tally)) to.bytes_written += tally.bytes;
  } else {
    (went_to_shared(tally) ? to.shared_load_requests : to.global_load_requests) += tally.requests;
    to.shared_load_wavefronts += tally.wavefronts;
    to.global_load_sectors += tally.sectors;
    if (!went_to_shared(tally)) to.bytes_read += tally.bytes;
  }
}

void charge(Counters& to, std::string_view name, const Tally& tally, bool is_instruction, bool begins_wait) {
  if (is_instruction) {
    to.warp_instructions += tally.warps;
    to.thread_instructions += tally.threads;
    if (begins(name, "shfl")) to.shuffles += tally.warps;
  }
  if (begins(name, "bra") || begins(name, "brx")) {
    to.branches += tally.requests;
    to.divergent_branches += tally.divergent;
  } else if (begins(name, "bar") || begins(name, "barrier")) {
    to.barriers += tally.requests;
  } else if (tally.requests) {
    charge_memory(to, name, tally);
    if (begins_wait && !went_to_shared(tally)) to.global_load_waits += tally.requests;
  }
}

} // namespace

Counters& Counters::operator+=(const Counters& other) {
#define COUNTED(key, ...) key += other.key;
#define COUNTED_PER_LAUNCH(...)
#define COUNTED_PER_LINE(...)
#define RATIO(...)
#include "counted.def"
#undef COUNTED
#undef COUNTED_PER_LAUNCH
#undef COUNTED_PER_LINE
#undef RATIO
  return *this;
}

LaunchCounters count(const machine::LaunchRecord& record) {
  LaunchCounters result;
  const machine::Code& code = const_cast<machine::Kernel*>(record.source)->code();
  std::map<std::pair<std::uint32_t, std::uint32_t>, LineCounters> by_line; // file and line
  for (std::size_t i = 0; i < code.operations.size(); ++i) {
    const Tally& tally = record.tallies[i];
    if (tally.warps == 0 && tally.requests == 0) continue;
    const ptx::Location& at = code.module->locations[code.operations[i].location];
    const auto charge_to = [&](Counters& counters) {
      charge(counters, code.names[i], tally, code.is_instruction[i], code.begins_wait[i]);
    };
    charge_to(result.total);
    LineCounters& line = by_line[{at.file, at.line}];
    charge_to(line.counters);
    if (code.is_instruction[i]) line.executions = std::max(line.executions, tally.warps);
  }
  for (auto& [place, line] : by_line) {
    line.line = {std::string(code.module->files[place.first]), place.second};
    result.lines.push_back(line);
  }
  return result;
}

} // namespace warpfold::watch
