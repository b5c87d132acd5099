#include "explain/exponential_counts.hpp"

#include "explain/element_counts.hpp"
#include "explain/element_words.hpp"

#include <cmath>
#include <map>
#include <optional>

namespace lab {
namespace {

using NodeId = ElementCounts::NodeId;
using Node = ValueGraph::Node;

constexpr double near_enough = 1e-4; // of sums in float

class ExponentialCounts {
public:
  ExponentialCounts(const ValueGraph& graph, const Outcome& outcome, const Case& given, const Sequence& input,
                    std::size_t result)
      : graph_(graph), given_(given), columns_(given.n / given.rows), first_(result / columns_ * columns_),
        counts_(graph, outcome, given, input, result) {
    for (std::size_t column = 0; column < columns_; ++column) {
      elements_.push_back(input[first_ + column]);
      if (!(elements_.back() <= largest_)) largest_ = elements_.back();
    }
    divisor_ = std::exp(elements_[result - first_] - largest_) / outcome.results[result];
  }

  std::string in_words() {
    const std::optional<NodeId> sum = node_of_divisor();
    if (!sum || !count_from(*sum)) return "";
    double all = 0;
    std::map<double, Indices> by_count;
    for (std::size_t column = 0; column < columns_; ++column) {
      all += times_[column] * std::exp(elements_[column] - largest_);
      by_count[times_[column]].push_back(column);
    }
    const bool each_once = by_count.size() == 1 && by_count.contains(1);
    if (each_once || !(std::abs(all - divisor_) < near_enough * divisor_)) return "";
    return " In the sum of exponentials, " + lower(how_often(by_count, columns_, given_.block));
  }

private:
  static std::string lower(std::string text) {
    if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
  }

  // The last value that is the divisor.
  std::optional<NodeId> node_of_divisor() const {
    for (NodeId id = graph_.end(); id-- > first_node;) {
      const Node& node = graph_.node(id);
      if (node.kind != Node::Kind::computed || !is_sum(graph_.operation_of(node))) continue;
      if (std::abs(counts_.value_of(id) - divisor_) < near_enough / 10 * divisor_) return id;
    }
    return std::nullopt;
  }

  static bool is_sum(std::string_view operation) {
    return operation.starts_with("add.") || operation.starts_with("fma.");
  }
  // Where a value that was only handed on came from.
  ValueGraph::Operand origin(ValueGraph::Operand operand) const {
    while (!ValueGraph::is_bare(operand.node)) {
      const Node& node = graph_.node(operand.node);
      const bool is_handed_on =
          node.kind == Node::Kind::selected || (node.kind == Node::Kind::packed && node.operands == 1);
      if (!is_handed_on) break;
      operand = graph_.operands_of(node)[0];
    }
    return operand;
  }
  bool is_exponential(NodeId id) const {
    return !ValueGraph::is_bare(id) && graph_.node(id).kind == Node::Kind::computed &&
           graph_.operation_of(graph_.node(id)).starts_with("ex2.");
  }

  // False where a value came about in another way than by adding up exponentials, scaled by exponentials.
  bool count_from(NodeId sum) {
    times_.assign(columns_, 0);
    std::vector<double> weight(sum + 1);
    weight[sum] = 1;
    for (NodeId id = sum + 1; id-- > first_node;) {
      if (weight[id] == 0) continue;
      const Node& node = graph_.node(id);
      if (!pass_on(id, node, weight)) return false;
    }
    return true;
  }

  bool pass_on(NodeId id, const Node& node, std::vector<double>& weight) {
    const double times = weight[id];
    if (is_exponential(id)) {
      const auto column = column_of(id);
      if (column) times_[*column] += times;
      return column.has_value();
    }
    if (node.kind != Node::Kind::computed) return false;
    const auto operands = graph_.operands_of(node);
    const std::string_view operation = graph_.operation_of(node);
    if (operation.starts_with("add."))
      return add(operands[0], times, weight) && add(operands[1], times, weight);
    if (!operation.starts_with("mul.") && !operation.starts_with("fma.")) return false;
    return add_product(operands[0], operands[1], times, weight) &&
           (operation.starts_with("mul.") || add(operands[2], times, weight));
  }
  bool add(ValueGraph::Operand operand, double times, std::vector<double>& weight) const {
    operand = origin(operand);
    if (ValueGraph::is_bare(operand.node)) return number(operand.bits, "f32") == 0;
    weight[operand.node] += times;
    return true;
  }

  // A sum and its scale; or 1 and its scale, which is the exponential of one element.
  bool add_product(ValueGraph::Operand a, ValueGraph::Operand b, double times,
                   std::vector<double>& weight) const {
    a = origin(a), b = origin(b);
    if (is_exponential(a.node) == is_exponential(b.node)) return false;
    const ValueGraph::Operand& scale = is_exponential(a.node) ? a : b;
    const ValueGraph::Operand& scaled = is_exponential(a.node) ? b : a;
    if (!ValueGraph::is_bare(scaled.node)) return add(scaled, times, weight);
    const double value = number(scaled.bits, "f32");
    return value == 0 || (value == 1 && add(scale, times, weight));
  }

  // The element that an exponential is of: the one that takes the fewest steps to reach it, since the maximum
  // comes from others.
  std::optional<std::size_t> column_of(NodeId exponential) const {
    constexpr int most_steps = 6;
    std::vector<NodeId> level{exponential};
    for (int step = 0; step < most_steps && !level.empty(); ++step) {
      std::vector<NodeId> next;
      for (const NodeId id : level) {
        const Node& node = graph_.node(id);
        if (const auto element = counts_.element_of(node))
          return *element >= first_ && *element < first_ + columns_ ? std::optional(*element - first_)
                                                                    : std::nullopt;
        for (const ValueGraph::Operand& operand : graph_.operands_of(node))
          if (!ValueGraph::is_bare(operand.node)) next.push_back(operand.node);
      }
      level = std::move(next);
    }
    return std::nullopt;
  }

  const ValueGraph& graph_;
  const Case& given_;
  std::size_t columns_, first_;
  ElementCounts counts_;
  std::vector<double> elements_, times_;
  double largest_ = -INFINITY, divisor_ = 0;
};

} // namespace

std::string counts_of_exponentials(const ValueGraph& graph, const Outcome& outcome, const Case& given,
                                   const Sequence& input, std::size_t result) {
  if (input.type != Type::float32) return "";
  return ExponentialCounts(graph, outcome, given, input, result).in_words();
}

bool are_of_one_thread(const ValueGraph& graph, std::size_t result, std::size_t other) {
  const NodeId one = graph.roots.at(result), two = graph.roots.at(other);
  if (ValueGraph::is_bare(one) || ValueGraph::is_bare(two)) return false;
  const ValueGraph::Where &maker = graph.node(one).where, &other_maker = graph.node(two).where;
  return maker.block == other_maker.block && maker.thread == other_maker.thread;
}

} // namespace lab
