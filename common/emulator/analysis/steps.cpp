#include "steps.hpp"

#include <vector>

namespace warpfold::analysis {

namespace {

bool is_barrier(const machine::Code& code, std::uint32_t index, bool of_warp) {
  if (code.facts[index].work != machine::Work::barrier) return false;
  return of_warp || code.names[index].find(".warp.") == std::string::npos;
}

// Whether some way leads from the end of one operation to another, past none at which `ends` is true. What
// follows an operation that always jumps counts as a way, so there may be fewer than it says.
template <class Ends>
bool leads_to(const machine::Code& code, const machine::Operation& from, const machine::Operation& to,
              const Ends& ends) {
  std::vector<bool> seen(code.operations.size());
  std::vector<std::uint32_t> open{from.index};
  while (!open.empty()) {
    const machine::Operation& at = code.operations[open.back()];
    open.pop_back();
    const auto reach = [&](std::uint32_t next) {
      if (next >= seen.size() || seen[next]) return;
      seen[next] = true;
      if (!ends(next)) open.push_back(next);
    };
    reach(at.index + 1);
    if (at.target)
      reach(at.target->index);
    else if (code.facts[at.index].work == machine::Work::branch)
      return true; // a jump table's
  }
  return seen[to.index];
}

} // namespace

bool are_in_one_step(const machine::Code& code, const machine::Operation& load,
                     const machine::Operation& store, bool of_warp) {
  const auto is_same_line = [&](std::uint32_t index) {
    const machine::SourceLine one = code.line_of(load), other = code.line_of(code.operations[index]);
    return one.line == other.line && one.file == other.file;
  };
  // A line that calls other code has more than one statement.
  if (code.facts[load.index].of_other_file || code.facts[store.index].of_other_file) return false;
  if (!is_same_line(store.index) || store.index < load.index) return false;
  if (leads_to(code, store, load, [&](std::uint32_t i) { return is_barrier(code, i, of_warp); }))
    return false;
  return leads_to(code, load, store, [&](std::uint32_t i) {
    const bool goes_round = i <= load.index;
    return goes_round || is_barrier(code, i, of_warp) ||
           (code.facts[i].work == machine::Work::store && is_same_line(i));
  });
}

} // namespace warpfold::analysis
