// What a lab program prints: text for people, TAP for Meson, JSON for programs.
#pragma once

#include "input/options.hpp"
#include "input/regions.hpp"
#include "report/result.hpp"

#include <cstdio>
#include <span>

namespace lab {

// What all results of a run have in common.
struct Heading {
  std::string lab, source;
};

// The rungs, and what is still to be filled in.
void print_list(const Heading& heading, std::span<const Rung> rungs, const std::vector<Region>& regions,
                bool json);

// The state, the reason for it, where to look, and what is known about the mistake.
void print_text(const Result& result, const Options& options, bool first_line_is_out = false);
// The first line of that: the state and the reason for it.
void print_first_line(const Result& result);

// One rung's checks, each a TAP point.
void print_tap(const Result& result, bool todo_fails);
// Several rungs, each a TAP point.
void print_tap(std::span<const Result> results, bool todo_fails);
// Nothing could be run.
void print_tap_skip(std::string_view reason);

// {"lab", "source", "device", "rungs": [...]}; `more` are JSON texts of the same shape whose rungs are
// appended.
void print_json(std::FILE* out, const Heading& heading, std::span<const Result> results,
                std::span<const std::string> more);

// The rungs in such a JSON text: all that a verdict shows, without counters and times.
std::vector<Result> results_from_json(std::string_view text);

bool is_failure(State state, bool todo_fails);

} // namespace lab
