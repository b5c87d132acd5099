#include "explain/where_values_went.hpp"

#include "explain/counted_often.hpp"
#include "explain/element_words.hpp"
#include "explain/followed_result.hpp"
#include "explain/foreign_terms.hpp"
#include "explain/lost_elements.hpp"
#include "explain/on_the_way.hpp"
#include "explain/what_threads_read.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace lab {
namespace {

// What the check put there before the launch.
bool is_old_result(const FollowedResult& result, NodeId root) {
  return !ValueGraph::is_bare(root) && result.graph.node(root).kind == NodeKind::loaded &&
         result.counts.result_at(result.graph.node(root).address);
}

// Whether nothing has been stored in the result, neither by a kernel nor by the host.
bool is_untouched(const FollowedResult& result) {
  return is_old_result(result, result.graph.roots[result.row]) &&
         std::ranges::none_of(result.graph.losses, [&](const ValueGraph::Loss& loss) {
           return loss.overwritten && result.graph.line(loss.by) == 0;
         });
}

bool launches_nothing(const ValueGraph& graph) {
  return graph.launches.size() == 1; // the host's
}

std::string untouched(const FollowedResult& result) {
  if (launches_nothing(result.graph))
    return "No kernel is launched, and the result stays what it was before.";
  const auto rows =
      std::ranges::count_if(result.graph.roots, [&](NodeId root) { return is_old_result(result, root); });
  return result.given.rows == 1
             ? "What stood in the result before is still there."
             : fmt::format("Nothing is stored in the result of row {}{}.", result.row,
                           rows == 1 ? ""
                                     : fmt::format(" and of {} other row{}", rows - 1, rows == 2 ? "" : "s"));
}

// It may also have made a part of a value.
Diagnosis of_library_type(const FollowedResult& result) {
  for (NodeId id = first_node; id < result.graph.end(); ++id) {
    const ValueGraph::Node& node = result.graph.node(id);
    if (const auto given = result.counts.type_given_to_library(node))
      return {std::string(library_type_differs),
              capital(fmt::format("{} takes the bits of {} for those of {}.", result.words.who(node.where),
                                  type_in_words(*given),
                                  type_in_words(operand_type(result.graph.operation_of(node))))),
              true};
  }
  return {};
}

// For a result that the host computed: what it was given is right, so it is the host's.
Diagnosis of_the_host(FollowedResult& result) {
  const NodeId root = result.graph.roots[result.row];
  if (ValueGraph::is_bare(root) || result.graph.node(root).kind != NodeKind::host ||
      result.graph.host_copies.empty())
    return {};
  const std::vector<ValueGraph::Operand>& values = result.graph.host_copies.back().values;
  std::vector<NodeId> all;
  bool is_right = true;
  for (const ValueGraph::Operand& value : values) {
    if (!ValueGraph::is_bare(value.node))
      all.push_back(value.node);
    else
      is_right = is_right &&
                 load_value(result.input.type, &value.bits) == identity(result.input.type, result.input.op);
  }
  result.counts.count_from(all);
  is_right = is_right && result.counts.terms().empty();
  for (std::size_t i = 0; i < result.given.n; ++i) is_right = is_right && result.counts.of_element(i) == 1;
  if (!is_right || values.size() < 2) return {};
  const auto value_at = [&](std::size_t i) { return load_value(result.input.type, &values[i].bits); };
  const double expected = reduce(result.input, result.first, result.first + result.columns).value;
  std::string what;
  for (std::size_t i = 0; i < values.size() && what.empty(); ++i) {
    if (value_at(i) == result.got) what = fmt::format(" That is the value with the index {} alone.", i);
    if (result.input.op == Operator::add && expected - value_at(i) == result.got)
      what = fmt::format(" That is all of them but the one with the index {}.", i);
  }
  return {
      std::string(host_adds_wrongly),
      fmt::format("The {} values that are copied to the host are right: together they make {:.10g}. The host "
                  "makes {:.10g} of them.{}",
                  values.size(), expected, result.got, what),
      true};
}

// One that loses a comparison does not reach the result, and should not.
Finding best_element(const FollowedResult& result, WhatThreadsRead& reads) {
  Indices never;
  for (std::size_t i = result.first; i < result.first + result.columns; ++i)
    if (result.counts.loads_of(i).empty()) never.push_back(i);
  if (!never.empty()) return {"not-read", reads.unread(never, 0)};
  if (result.input.op == Operator::bitwise_and) return {}; // to which each may add its part
  const double expected = reduce(result.input, result.first, result.first + result.columns).value;
  std::optional<std::size_t> best;
  for (std::size_t i = result.first; i < result.first + result.columns; ++i) {
    if (result.input[i] != expected) continue;
    if (result.counts.of_element(i) != 0) return {};
    if (!best) best = i;
  }
  if (!best) return {};
  std::string text =
      fmt::format("The {} is element {}.", result.input.op == Operator::min ? "minimum" : "maximum", *best);
  if (const auto choice = result.counts.last_wrong_choice(*best)) {
    const ValueGraph::Node& node = result.graph.node(choice->node);
    const std::string_view operation =
        node.kind == NodeKind::computed ? result.graph.operation_of(node) : std::string_view();
    return {"passed-over",
            text + sentence("in line {}, {} has {:.10g} and {:.10g}, and keeps the latter, which is {}{}.",
                            result.graph.line(node.where), result.words.thread(node.where),
                            choice->passed_over, choice->kept,
                            choice->kept > choice->passed_over ? "greater" : "smaller",
                            operation.empty() ? "" : fmt::format(" ({})", operation))};
  }
  Finding found = lost_elements(result, {*best}, 1);
  return {found.kind, text + found.text};
}

// How often the elements count, and why not once. `is_untouched`: it is known that nothing was stored.
Finding element_counts(const FollowedResult& result, bool is_untouched) {
  if (result.columns == 0) return {};
  std::map<double, Indices> by_times;
  for (std::size_t i = result.first; i < result.first + result.columns; ++i)
    by_times[result.counts.of_element(i)].push_back(i);
  if (by_times.size() == 1 && by_times.begin()->first == 1) return {};
  WhatThreadsRead reads(result);
  if (result.counts.is_selection()) return best_element(result, reads);
  Finding found;
  const bool no_element = by_times.size() == 1 && by_times.begin()->first == 0;
  if (!is_untouched)
    found.text = no_element ? "None of the elements counts in the result."
                            : how_often(by_times, result.given.n, result.given.block);
  if (const auto missing = by_times.find(0); missing != by_times.end()) {
    Indices never, gone;
    for (const std::size_t i : missing->second)
      (result.counts.loads_of(i).empty() ? never : gone).push_back(i);
    if (!never.empty()) found.text += reads.unread(never, missing->second.size());
    if (!gone.empty()) {
      const Finding lost = lost_elements(result, gone, missing->second.size());
      found = {lost.kind, found.text + lost.text};
    }
    if (!never.empty()) found.kind = never.size() == result.columns ? "nothing-read" : "not-read";
  }
  const auto often =
      std::ranges::find_if(by_times, [](const auto& each) { return each.first != 0 && each.first != 1; });
  if (often != by_times.end()) {
    const Finding why = counted_often(result, often->second, reads);
    found.text += why.text;
    if (found.kind.empty()) found.kind = why.kind;
  }
  if (found.kind.empty() && no_element) found.kind = "nothing-counted"; // all of them cancel out
  return found;
}

// Where it is not known how often each element counts.
Diagnosis without_counts(FollowedResult& result) {
  if (Diagnosis found = rounded_to_float(result); !found.kind.empty()) return found;
  if (Diagnosis found = lost_bits(result); !found.kind.empty()) return found;
  if (const std::string text = std::isfinite(result.got) ? "" : first_not_finite(result); !text.empty())
    return {"not-finite", text.substr(1), true};
  if (result.given.devices > 1) return {}; // it may have been NCCL
  return of_the_host(result);
}

Diagnosis from_counts(const FollowedResult& result) {
  const bool untouched_result = is_untouched(result);
  Finding found = wrong_operation(result);
  if (found.kind.empty()) {
    found = element_counts(result, untouched_result);
    const Finding term = untouched_result ? Finding{} : foreign_term(result);
    found.text += term.text;
    if (found.kind.empty()) found.kind = term.kind;
  }
  if (untouched_result)
    found = {"never-written", untouched(result) + (launches_nothing(result.graph) ? "" : found.text)};
  if (found.text.starts_with(' ')) found.text.erase(0, 1);
  return found.text.empty() ? Diagnosis{} : Diagnosis{found.kind, found.text, result.columns != 0};
}

} // namespace

Diagnosis from_values(const Outcome& outcome, const Case& given, const Sequence& input, std::size_t row) {
  if (outcome.followed.graph.empty() || outcome.results.size() <= row) return {};
  const ValueGraph graph = value_graph_from(outcome.followed.graph);
  FollowedResult result(graph, outcome, given, input, row);
  if (!graph.complete || row >= graph.roots.size()) return {};
  if (Diagnosis found = of_library_type(result); !found.kind.empty()) return found;
  return result.counts.explain_result() ? from_counts(result) : without_counts(result);
}

} // namespace lab
