// One wrong result of a run in which values were followed, and what its graph says of it.
#pragma once

#include "explain/element_counts.hpp"
#include "explain/value_graph.hpp"
#include "explain/value_words.hpp"
#include "run/runner.hpp"

#include <cstddef>
#include <string>

namespace lab {

struct FollowedResult {
  // All of these must outlive it. `number` counts the results of the outcome: of a reduction, a row has one.
  FollowedResult(const ValueGraph& its_graph, const Outcome& outcome, const Case& its_case,
                 const Sequence& its_input, std::size_t number)
      : graph(its_graph), given(its_case), input(its_input), got(outcome.results[number]), row(number),
        columns(given.n / given.rows), first(row * columns), in_opencl(outcome.followed.in_opencl),
        in_place(outcome.followed.in_place), counts(graph, outcome, given, input, row),
        words(graph, counts, given, input) {}
  FollowedResult(const FollowedResult&) = delete; // `words` refers to `counts`
  FollowedResult& operator=(const FollowedResult&) = delete;

  const ValueGraph& graph;
  const Case& given;
  const Sequence& input;
  const double got;
  const std::size_t row, columns, first; // elements per row, and the first of this one
  const bool in_opencl, in_place;
  ElementCounts counts;
  const ValueWords words;
};

// What was found: the kind of diagnosis, and sentences that follow others; both empty if it was nothing.
struct Finding {
  std::string kind, text;
};

} // namespace lab
