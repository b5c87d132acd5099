// What is reported about two operations that nothing orders.
#include "runtime/ordering/ordering_state.hpp"

#include "runtime/reporting/call_sites.hpp"
#include "runtime/reporting/errors.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace warpfold::runtime::ordering {

namespace {

const char* verb(Touch touch) {
  return touch == Touch::read || touch == Touch::strong_read ? "reads" : "writes";
}

} // namespace

std::string place_of(std::uint64_t address) {
  const auto allocation = Runtime::get().memory.nearest(address); // possibly freed
  if (!allocation || address < allocation->begin || address >= allocation->end())
    return fmt::format("0x{:x}", address);
  return fmt::format("byte {} of {}",
                     address - std::min(address, std::max(allocation->begin, allocation->origin)),
                     allocation->label);
}

void add(HazardCause cause, const std::string& message, const Operation* later, const Operation* earlier,
         HazardKind kind) {
  analysis::Hazard hazard{kind, cause, message};
  const auto line = [](const Operation& operation) {
    return line_of(operation.frames, operation.is_kernel ? operation.name : std::string());
  };
  if (later) hazard.where = line(*later);
  if (earlier) hazard.other = line(*earlier);
  if (!hazard.where.line) std::swap(hazard.where, hazard.other);
  Runtime::get().recorder.add(std::move(hazard));
}

void report_not_checked(State& state, const std::string& what, const Operation* later) {
  if (!is_new(state, what, "", "not checked")) return;
  add(HazardCause::too_much_pending,
      fmt::format("races between {} and earlier work are not checked from here on", what), later, nullptr,
      HazardKind::not_checked);
}

machine::SourceLine line_of_call() {
  return current ? line_of(current->operation.frames, "") : machine::SourceLine{};
}

std::vector<std::uint64_t> frames_of_call() {
  return current && !current->operation.frames.empty() ? current->operation.frames : callers();
}

std::string site_of(const Operation& operation) {
  std::string text = operation.name + operation.where;
  for (const std::uint64_t frame : operation.frames) text += fmt::format(" {:x}", frame);
  return text;
}

bool is_new(State& state, const std::string& a, const std::string& b, const std::string& what) {
  constexpr std::size_t most = 100; // each one searches the program's debug information
  return state.reported.size() < most && state.reported.emplace(a, b, what).second;
}

void report_streams(State& state, const Operation& earlier, const TouchedRange& other, const Operation& later,
                    const TouchedRange& mine) {
  if (!is_new(state, site_of(earlier), site_of(later), "")) return;
  const auto name_of = [](const Operation& operation) { // a library's copies are its caller's
    const std::string library = library_function(operation.frames);
    return library.empty() ? operation.name : library;
  };
  // Launches in one stream are ordered, so these are nodes of one launch.
  const bool one_graph = earlier.of_graph && later.of_graph && earlier.where == later.where;
  add(one_graph ? HazardCause::nodes_not_ordered : HazardCause::streams_not_ordered,
      fmt::format("{} in {} {} {}, which {} in {} {}; {} orders the two", name_of(later), later.where,
                  verb(mine.touch), place_of(std::max(mine.begin, other.begin)), name_of(earlier),
                  earlier.where, verb(other.touch), one_graph ? "no dependency" : "nothing"),
      &later, &earlier);
}

void forget_reports() {
  State& state = State::get();
  std::lock_guard lock(state.mutex);
  state.reported.clear();
  state.has_warned_of_pageable = false;
}

} // namespace warpfold::runtime::ordering
