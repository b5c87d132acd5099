#include "explain/result_tree.hpp"

#include "explain/element_counts.hpp"
#include "explain/element_words.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace lab {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t most_nodes = 4000;
constexpr const char* signs[] = {"+", "min", "max", "x", "&"}; // in the order of Operator
constexpr const char* no_element = "no element";

class ResultTree {
public:
  ResultTree(const ValueGraph& graph, const Outcome& outcome, const Case& given, const Sequence& input,
             std::size_t row)
      : graph_(graph), given_(given), input_(input), root_(graph.roots.at(row)), row_(row),
        counts_(graph, outcome, given, input, row), parts_(graph.end()), is_of_differences_(graph.end()),
        values_(graph.end()) {
    for (NodeId id = first_node; id < graph_.end(); ++id) find_parts(id);
  }

  ordered_json json() {
    add_results();
    add_lost_elements();
    if (shown_.size() > most_nodes)
      throw std::length_error(
          fmt::format("the result is made in {} steps, {} at most can be shown", shown_.size(), most_nodes));
    for (const NodeId id : shown_) {
      used_.insert(parts_[id].nodes.begin(), parts_[id].nodes.end());
      elements_[id] = counts_.elements_in(id);
    }
    ordered_json nodes = ordered_json::array();
    for (const NodeId id : shown_) nodes.push_back(to_json(id)); // in order
    return {{"complete", graph_.complete},
            {"joined_by", signs[static_cast<int>(input_.op)]},
            {"result", behind(root_)},
            {"unread", unread_},
            {"nodes", nodes}};
  }

private:
  using ElementsIn = std::map<std::size_t, double>; // how often each counts
  struct Parts {                                    // of which a value was made
    std::vector<NodeId> nodes;
    std::vector<double> constants;
  };

  // What only passes a value on is skipped: a selection, a conversion, a sum with the identity.
  bool passes_on(NodeId id) const {
    const ValueGraph::Node& node = graph_.node(id);
    return node.kind != NodeKind::loaded && node.kind != NodeKind::host && parts_[id].nodes.size() == 1 &&
           parts_[id].constants.empty() && counts_.is_step_of_operator(id);
  }
  NodeId behind(NodeId id) const {
    while (!ValueGraph::is_bare(id) && passes_on(id)) id = parts_[id].nodes[0];
    return id;
  }

  void find_parts(NodeId id) {
    const ValueGraph::Node& node = graph_.node(id);
    if (node.kind == NodeKind::loaded || node.kind == NodeKind::host) return;
    auto operands = graph_.operands_of(node);
    // Of two values, one was taken; a minimum or maximum is such a choice.
    if (node.kind == NodeKind::selected && !counts_.is_selection() && !operands.empty())
      operands = operands.first(1);
    is_of_differences_[id] = is_difference(node);
    values_[id] = counts_.value_of(id);
    for (const ValueGraph::Operand& operand : operands) {
      if (!ValueGraph::is_bare(operand.node)) {
        if (is_of_differences_[operand.node]) is_of_differences_[id] = true;
        if (is_identity_in_memory(operand.node) || is_nothing(operand.node)) continue;
        parts_[id].nodes.push_back(behind(operand.node));
      } else if (node.kind == NodeKind::computed) {
        const double value = number(operand.bits, operand_type(graph_.operation_of(node)));
        if (value != identity(input_.type, input_.op)) parts_[id].constants.push_back(value);
      }
    }
    if (is_atomic(node) && counts_.is_step_of_operator(id)) values_[id] = joined(parts_[id]);
  }

  // The graph does not have the result of an atomic.
  bool is_atomic(const ValueGraph::Node& node) const {
    const std::string_view operation = graph_.operation_of(node);
    return node.kind == NodeKind::computed &&
           (operation.starts_with("atom.") || operation.starts_with("red."));
  }
  double joined(const Parts& parts) const {
    double all = identity(input_.type, input_.op);
    for (const NodeId part : parts.nodes) all = apply(input_.op, all, value_of(part));
    for (const double constant : parts.constants) all = apply(input_.op, all, constant);
    return all;
  }
  double value_of(NodeId id) const {
    const ValueGraph::Node& node = graph_.node(id);
    if (auto [element, end] = counts_.loaded_by(node); element < end) {
      double all = input_[element];
      while (++element < end) all = apply(input_.op, all, input_[element]);
      return all;
    }
    return node.kind == NodeKind::loaded || node.kind == NodeKind::host ? counts_.value_of(id) : values_[id];
  }

  bool is_difference(const ValueGraph::Node& node) const {
    return node.kind == NodeKind::computed && !graph_.operation_of(node).starts_with("add.");
  }
  // A correction of 0, in which each element counts as often as it is subtracted.
  bool is_nothing(NodeId id) const {
    return is_of_differences_[id] && counts_.value_of(id) == identity(input_.type, input_.op) &&
           words_of(counts_.elements_in(id)) == no_element;
  }

  // Such as the 0 that stood in the result before the first block added to it.
  bool is_identity_in_memory(NodeId id) const {
    const ValueGraph::Node& node = graph_.node(id);
    return node.kind == NodeKind::loaded && !counts_.element_of(node) &&
           counts_.value_of(id) == identity(input_.type, input_.op);
  }

  void show(NodeId end) { // and all of which it was made
    std::vector<NodeId> open{behind(end)};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (ValueGraph::is_bare(id) || !shown_.insert(id).second) continue;
      open.insert(open.end(), parts_[id].nodes.begin(), parts_[id].nodes.end());
    }
  }

  // A result that the host put there was made of what it had last copied to it.
  void add_results() {
    show(root_);
    if (ValueGraph::is_bare(root_) || graph_.node(root_).kind != NodeKind::host || graph_.host_copies.empty())
      return;
    for (const ValueGraph::Operand& value : graph_.host_copies.back().values) {
      show(value.node);
      if (!ValueGraph::is_bare(value.node)) parts_[root_].nodes.push_back(behind(value.node));
    }
  }

  // For each element that the result lacks, the last value that holds it.
  void add_lost_elements() {
    const std::size_t columns = given_.n / given_.rows;
    for (std::size_t element = row_ * columns; element < (row_ + 1) * columns; ++element) {
      const auto& loads = counts_.loads_of(element);
      if (loads.empty()) {
        unread_.push_back(element);
        continue;
      }
      const bool is_there =
          std::ranges::any_of(loads, [&](NodeId load) { return shown_.contains(behind(load)); });
      if (!is_there) show(last_with(loads.front()));
    }
  }
  NodeId last_with(NodeId id) const {
    while (!counts_.users_of(id).empty()) id = counts_.users_of(id).front();
    return id;
  }

  ordered_json to_json(NodeId id) {
    const ValueGraph::Node& node = graph_.node(id);
    const auto element = counts_.element_of(node);
    const bool is_step = node.kind != NodeKind::loaded && node.kind != NodeKind::host;
    const ElementsIn& elements = elements_[id];
    ordered_json counted = ordered_json::array();
    for (const auto& [each, times] : elements) counted.push_back({each, times});
    return {{"id", id},
            {"kind", element                       ? "element"
                     : is_step                     ? "step"
                     : node.kind == NodeKind::host ? "host"
                                                   : "memory"},
            {"value", value_of(id)},
            {"line", graph_.line(node.where)},
            {"thread", node.kind == NodeKind::host ? "the host"
                                                   : thread_in_words(graph_, node.where, given_.devices > 1)},
            {"operation", is_step ? std::string(graph_.operation_of(node)) : ""},
            {"of", parts_[id].nodes},
            {"constants", parts_[id].constants},
            {"elements", counted},
            {"holds", words_of(elements)},
            {"wrong", is_step ? wrongs(id, elements) : std::vector<std::string>()},
            {"lost", used_.contains(id) || id == behind(root_) ? "" : lost(id)}};
  }

  std::string words_of(const ElementsIn& elements) const {
    Indices all;
    for (const auto& [element, times] : elements)
      if (times != 0) all.push_back(element);
    return all.empty() ? no_element : in_words(all, given_.n, given_.block);
  }

  // What this step does that no right one does: the first to count an element twice, to join a value that is
  // no element's, or to do something else than the operator.
  std::vector<std::string> wrongs(NodeId id, const ElementsIn& elements) {
    std::vector<std::string> found;
    const std::string operation(graph_.operation_of(graph_.node(id)));
    if (!counts_.is_step_of_operator(id)) found.push_back(fmt::format("this is {}", operation));
    if (!counts_.is_selection()) {
      std::map<double, Indices> by_count;
      for (const auto& [element, times] : elements)
        if (times > 1 && most_in_parts(id, element) <= 1) by_count[times].push_back(element);
      for (const auto& [times, which] : by_count)
        found.push_back(fmt::format("from here on, {} {}", in_words(which, given_.n, given_.block),
                                    counted(times, which.size() == 1)));
    }
    for (const NodeId part : parts_[id].nodes)
      if (graph_.node(part).kind == NodeKind::loaded && !counts_.element_of(graph_.node(part)))
        found.push_back(fmt::format("{:.9g} stood in memory before the launch", counts_.value_of(part)));
    for (const double constant : parts_[id].constants)
      found.push_back(fmt::format("{:.9g} is no element", constant));
    return found;
  }
  double most_in_parts(NodeId id, std::size_t element) {
    double most = 0;
    for (const NodeId part : parts_[id].nodes) { // shown as well
      const ElementsIn& elements = elements_[part];
      if (const auto found = elements.find(element); found != elements.end())
        most = std::max(most, found->second);
    }
    return most;
  }

  std::string lost(NodeId id) const {
    const auto loss = std::ranges::find_if(
        graph_.losses, [&](const ValueGraph::Loss& each) { return behind(each.node) == id; });
    if (loss == graph_.losses.end()) return "it is combined with nothing";
    const std::string stored = fmt::format("stored in {} in line {}", loss->place, graph_.line(loss->stored));
    if (!loss->overwritten) return fmt::format("{}, and never read", stored);
    if (graph_.line(loss->by) == 0) return fmt::format("{}, and overwritten by the host", stored);
    return fmt::format("{}, and overwritten in line {} by {}", stored, graph_.line(loss->by),
                       thread_in_words(graph_, loss->by, given_.devices > 1));
  }

  const ValueGraph& graph_;
  const Case& given_;
  const Sequence& input_;
  const NodeId root_;
  const std::size_t row_;
  const ElementCounts counts_;
  std::vector<Parts> parts_;            // by node
  std::vector<bool> is_of_differences_; // by node
  std::vector<double> values_;          // of steps, by node
  std::set<NodeId> shown_, used_;
  std::map<NodeId, ElementsIn> elements_; // of those shown
  Indices unread_;
};

} // namespace

ordered_json result_tree(const Outcome& outcome, const Case& given, const Sequence& input, std::size_t row) {
  if (outcome.followed.graph.empty() || outcome.results.size() <= row) return {{"complete", false}};
  const ValueGraph graph = value_graph_from(outcome.followed.graph);
  if (!graph.complete || row >= graph.roots.size()) return {{"complete", false}};
  return ResultTree(graph, outcome, given, input, row).json();
}

} // namespace lab
