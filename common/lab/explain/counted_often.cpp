#include "explain/counted_often.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <vector>

namespace lab {
namespace {

// The first step that combines two values which both have this load in them; 0 if there is none.
NodeId first_join(const FollowedResult& result, NodeId load) {
  std::vector<bool> has(result.graph.end());
  has[load] = true;
  for (NodeId id = load + 1; id < result.graph.end(); ++id) {
    const auto operands = result.graph.operands_of(result.graph.node(id));
    const auto with = std::ranges::count_if(
        operands, [&](const ValueGraph::Operand& operand) { return has[operand.node]; });
    has[id] = with > 0;
    if (with > 1 && result.counts.of_node(id) != 0 && result.counts.is_step_of_operator(id)) return id;
  }
  return 0;
}

// Those in which all threads of a warp do the same, if there are such.
std::vector<NodeId> of_a_whole_warp(const ValueGraph& graph, const std::vector<NodeId>& users) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>,
           std::map<std::uint32_t, NodeId>>
      by_warp;
  for (const NodeId user : users) {
    const Where& at = graph.node(user).where;
    by_warp[{at.place, at.launch, at.block, at.thread / 32}].emplace(at.thread, user);
  }
  std::vector<NodeId> found;
  for (const auto& [warp, by_thread] : by_warp)
    if (by_thread.size() == 32 && found.empty())
      for (const auto& [thread, user] : by_thread) found.push_back(user);
  return found;
}

// What the step `join` combines, if both operands have the element in them; "" if it is not so.
std::string joined_twice(const FollowedResult& result, NodeId join, std::size_t element) {
  const ValueGraph& graph = result.graph;
  const ValueGraph::Node& node = graph.node(join);
  std::vector<NodeId> both;
  for (const ValueGraph::Operand& operand : graph.operands_of(node))
    if (!ValueGraph::is_bare(operand.node) && result.counts.elements_in(operand.node).contains(element))
      both.push_back(operand.node);
  if (both.size() != 2) return "";
  const std::string one = result.words.value_of(both[0]), other = result.words.value_of(both[1]);
  const Where& latter = graph.node(both[1]).where;
  const bool is_same = result.counts.elements_in(both[0]) == result.counts.elements_in(both[1]);
  return sentence("in line {}, {} combines {} and {}{}.{}", graph.line(node.where),
                  result.words.thread(node.where), one, one == other && !is_same ? "another such sum" : other,
                  is_same ? " again" : fmt::format(": element {} is in both", element),
                  is_same_thread(latter, node.where) || graph.line(latter) == 0
                      ? ""
                      : fmt::format(" The latter is what {} has from line {}.", result.words.thread(latter),
                                    graph.line(latter)));
}

// A value that counts more often than any one of what was made of it.
struct Branching {
  NodeId value = 0;
  std::vector<NodeId> uses; // those that count
};

Branching first_branching(const FollowedResult& result, NodeId load) {
  Branching found{load, {}};
  for (;;) {
    found.uses.clear();
    for (const NodeId user : result.counts.users_of(found.value))
      if (result.counts.of_node(user) != 0) found.uses.push_back(user);
    if (found.uses.size() != 1 || result.counts.of_node(found.uses[0]) != result.counts.of_node(found.value))
      return found;
    found.value = found.uses[0];
  }
}

// What was read once counts several times: where it is taken by several, or several times by one.
Finding added_again(const FollowedResult& result, NodeId load, std::size_t element) {
  const ValueGraph& graph = result.graph;
  const auto [id, uses] = first_branching(result, load);
  const double times = result.counts.of_node(id);
  const std::string value = result.words.value_of(id);
  if (uses.empty()) return {"added-again", sentence("{} is copied to the host {:g} times.", value, times)};
  const ValueGraph::Node& user = graph.node(uses[0]);
  if (uses.size() == 2 && uses[0] == uses[1])
    return {"added-again", sentence("in {}, {} adds {} to itself.", result.words.lines_of(uses),
                                    result.words.thread(user.where), value)};
  const char* const kind = times < 0 ? "subtracted" : "added-again";
  if (uses.size() == 1) {
    const double per_use = times / result.counts.of_node(uses[0]);
    if (!graph.library_call(user.where).empty())
      return {kind, sentence("{} takes each value {:g} times, among them {}.", result.words.who(user.where),
                             per_use, value)};
    return {kind, sentence("{} makes {:g} times {}{}.", result.words.who(user.where), per_use, value,
                           result.words.operation_named(user))};
  }
  const bool is_of_all_lanes = graph.operation_of(graph.node(id)).starts_with("redux.");
  if (const std::vector<NodeId> warp = of_a_whole_warp(graph, result.counts.users_of(id));
      !warp.empty() && !is_of_all_lanes)
    return {kind,
            sentence("in {}, {} all take the same value, {}, which {} has.", result.words.lines_of(warp),
                     result.words.threads_of(warp), value, result.words.thread(graph.node(id).where))};
  if (const NodeId join = first_join(result, load); join != 0 && std::ranges::find(uses, join) == uses.end())
    if (std::string text = joined_twice(result, join, element); !text.empty()) return {kind, std::move(text)};
  const auto is_added = [&](NodeId use) {
    const std::string_view operation = graph.operation_of(graph.node(use));
    return operation.starts_with("add.") || operation.find(".add.") != operation.npos; // of atomics
  };
  const char* const used = graph.operation_of(user).starts_with("ld") ? "read"
                           : std::ranges::all_of(uses, is_added)      ? "added"
                                                                      : "taken";
  const bool by_one = std::ranges::all_of(
      uses, [&](NodeId use) { return is_same_thread(graph.node(use).where, user.where); });
  return {kind, sentence("in {}, {} is {} {} times, by {}.{}", result.words.lines_of(uses), value, used,
                         uses.size(), result.words.threads_of(uses),
                         by_one ? "" : " Which thread should do that?")};
}

} // namespace

Finding counted_often(const FollowedResult& result, const Indices& elements, WhatThreadsRead& reads) {
  const std::size_t element = elements.front();
  std::vector<NodeId> loads;
  for (const NodeId load : result.counts.loads_of(element))
    if (result.counts.of_node(load) != 0) loads.push_back(load);
  const auto by_host = [&](NodeId load) { return result.graph.line(result.graph.node(load).where) == 0; };
  if (std::ranges::any_of(loads, by_host)) return {};
  if (loads.size() == 1) return added_again(result, loads.front(), element);
  return {"read-again", sentence("in {}, element {} is read {} times, by {}.{}", result.words.lines_of(loads),
                                 element, loads.size(), result.words.threads_of(loads), reads.formula())};
}

} // namespace lab
