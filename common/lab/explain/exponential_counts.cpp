#include "explain/exponential_counts.hpp"

#include "explain/element_counts.hpp"
#include "explain/element_words.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numbers>
#include <optional>
#include <span>
#include <utility>

namespace lab {
namespace {

using Node = ValueGraph::Node;

constexpr double near_enough = 1e-4; // of sums in float
constexpr int most_steps = 6;        // from a result to what it was made of

class ExponentialCounts {
public:
  ExponentialCounts(const ValueGraph& graph, const Outcome& outcome, const Case& given, const Sequence& input,
                    std::size_t result)
      : graph_(graph), given_(given), columns_(given.n / given.rows), result_(result),
        first_(result / columns_ * columns_), counts_(graph, outcome, given, input, result) {
    for (std::size_t column = 0; column < columns_; ++column) {
      elements_.push_back(input[first_ + column]);
      if (!(elements_.back() <= largest_)) largest_ = elements_.back();
    }
    divisor_ = std::exp(elements_[result - first_] - largest_) / outcome.results[result];
  }

  std::string in_words() {
    const std::optional<NodeId> sum = node_of_divisor();
    if (!sum) return other_exponent();
    if (const std::string counts = counts_in_words(*sum); !counts.empty()) return counts;
    return first_wrong_factor(*sum);
  }

private:
  std::string counts_in_words(NodeId sum) {
    if (!count_from(sum)) return "";
    double all = 0;
    std::map<double, Indices> by_count;
    for (std::size_t column = 0; column < columns_; ++column) {
      if (elements_[column] == -INFINITY) continue; // masked
      all += times_[column] * std::exp(elements_[column] - largest_);
      by_count[times_[column]].push_back(column);
    }
    const bool each_once = by_count.size() == 1 && by_count.contains(1);
    if (each_once || !(std::abs(all - divisor_) < near_enough * divisor_)) return "";
    return " In the sum of exponentials, " + lower(how_often(by_count, columns_, given_.block));
  }

  static std::string lower(std::string text) {
    if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
  }

  // The last value that the result is made of and that is the divisor.
  std::optional<NodeId> node_of_divisor() const {
    if (ValueGraph::is_bare(graph_.roots.at(result_))) return std::nullopt;
    const std::vector<bool> is_part = parts_of(graph_.roots.at(result_));
    for (auto id = static_cast<NodeId>(is_part.size()); id-- > first_node;) {
      if (!is_part[id]) continue;
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
  bool is_operation(NodeId id, std::string_view name) const {
    return !ValueGraph::is_bare(id) && graph_.node(id).kind == Node::Kind::computed &&
           graph_.operation_of(graph_.node(id)).starts_with(name);
  }
  bool is_exponential(NodeId id) const { return is_operation(id, "ex2."); }

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
    if (counts_.value_of(id) == 0) return true;
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

  // exp(of - less), by their numbers; of an exponential from whose element nothing is subtracted, `less` is
  // 0. Its argument stands in a product with log2(e).
  struct Difference {
    double of = 0, less = 0;
  };
  std::optional<Difference> difference_in(NodeId exponential) const {
    const ValueGraph::Operand scaled = origin(graph_.operands_of(graph_.node(exponential))[0]);
    if (!is_operation(scaled.node, "mul.")) return std::nullopt;
    const auto factors = graph_.operands_of(graph_.node(scaled.node));
    const auto argument = origin(factors[ValueGraph::is_bare(factors[0].node) ? 1 : 0]);
    if (!is_operation(argument.node, "sub.")) return Difference{number(argument.bits, "f32"), 0};
    const auto operands = graph_.operands_of(graph_.node(argument.node));
    return Difference{number(operands[0].bits, "f32"), number(operands[1].bits, "f32")};
  }

  // A value as a sum of exp(x - less) over some elements x.
  struct Sum {
    enum class Kind { unknown, empty, of_elements } kind{};
    double less = 0;
  };
  Sum sum_in(ValueGraph::Operand operand) const {
    operand = origin(operand);
    if (number(operand.bits, "f32") == 0) return {Sum::Kind::empty, 0};
    if (ValueGraph::is_bare(operand.node)) return {};
    return sums_[operand.node];
  }

  // In a sentence: the first step of the sum that is none of adding up exponentials of elements from which
  // one number is subtracted, and of multiplying them for another number.
  std::string first_wrong_factor(NodeId sum) {
    const std::vector<bool> is_part = parts_of(sum);
    sums_.assign(sum + 1, {});
    for (NodeId id = first_node; id <= sum; ++id) {
      if (!is_part[id]) continue;
      if (const std::string wrong = step(id); !wrong.empty()) return wrong;
    }
    return "";
  }
  std::vector<bool> parts_of(NodeId sum) const {
    std::vector<bool> is_part(sum + 1);
    is_part[sum] = true;
    for (NodeId id = sum + 1; id-- > first_node;) {
      if (!is_part[id]) continue;
      for (const ValueGraph::Operand& operand : graph_.operands_of(graph_.node(id)))
        if (!ValueGraph::is_bare(operand.node)) is_part[operand.node] = true;
    }
    return is_part;
  }
  std::string step(NodeId id) {
    const Node& node = graph_.node(id);
    const auto operands = graph_.operands_of(node);
    if (is_exponential(id)) return exponential_of_element(id);
    if (is_operation(id, "add.")) return addition(id, sum_in(operands[0]), sum_in(operands[1]));
    if (!is_operation(id, "mul.") && !is_operation(id, "fma.")) return "";
    Sum product;
    if (const std::string wrong = multiplication(id, operands, product); !wrong.empty()) return wrong;
    if (is_operation(id, "fma.")) return addition(id, product, sum_in(operands[2]));
    sums_[id] = product;
    return "";
  }
  std::string exponential_of_element(NodeId id) {
    const auto exponent = difference_in(id);
    const auto column = column_of(id);
    if (!exponent || !column) return "";
    const double element = elements_[*column];
    if (exponent->of == element) sums_[id] = {Sum::Kind::of_elements, exponent->less};
    if (exponent->of == element || exponent->less != element || std::isinf(exponent->of)) return "";
    return fmt::format(" {} takes {} for element {}, which is {:.6g}: an element's own value is what the "
                       "other is subtracted from.",
                       who(id), exponential_of(exponent->of, exponent->less), *column, element);
  }
  std::string addition(NodeId id, const Sum& a, const Sum& b) {
    if (a.kind == Sum::Kind::unknown || b.kind == Sum::Kind::unknown) return "";
    sums_[id] = a.kind == Sum::Kind::empty ? b : a;
    if (a.kind == Sum::Kind::empty || b.kind == Sum::Kind::empty || a.less == b.less) return "";
    return fmt::format(" {} adds a sum of {} and a sum of {}, where x are elements: before they are added, "
                       "the same number must be subtracted in both.",
                       who(id), of_elements(a.less), of_elements(b.less));
  }
  std::string multiplication(NodeId id, std::span<const ValueGraph::Operand> operands, Sum& product) const {
    auto a = origin(operands[0]), b = origin(operands[1]);
    if (is_factor(a.node)) std::swap(a, b);
    if (!is_factor(b.node)) return "";
    const bool is_one = ValueGraph::is_bare(a.node) && number(a.bits, "f32") == 1;
    product = is_one ? sum_in(b) : sum_in(a);
    const auto factor = difference_in(b.node);
    if (is_one || product.kind != Sum::Kind::of_elements || !factor) return "";
    const double before = std::exchange(product.less, factor->less);
    if (factor->of == before) return "";
    return fmt::format(" {} multiplies a sum of {}, where x are elements, by {}. What makes it a sum of "
                       "exp(x - m) is exp({:.6g} - m).",
                       who(id), of_elements(before), exponential_of(factor->of, factor->less), before);
  }
  // An exponential from whose argument something is subtracted.
  bool is_factor(NodeId id) const {
    if (!is_exponential(id)) return false;
    const auto exponent = difference_in(id);
    return exponent && exponent->less != 0;
  }
  static std::string less(double number) {
    if (number == 0) return "";
    return fmt::format(" {} {:.6g}", number < 0 ? '+' : '-', std::abs(number));
  }
  static std::string of_elements(double subtracted) { return fmt::format("exp(x{})", less(subtracted)); }
  static std::string exponential_of(double of, double subtracted) {
    return fmt::format("exp({:.6g}{})", of, less(subtracted));
  }
  std::string who(NodeId id) const {
    const ValueGraph::Where& at = graph_.node(id).where;
    return capital(line_in_words(graph_, at) + thread_in_words(graph_, at, false));
  }

  // How many exponentials a product has as factors; a quotient, above the line.
  int exponential_factors(NodeId product, int steps = most_steps) const {
    if (is_exponential(product)) return 1;
    const bool divides = is_operation(product, "div.");
    if (steps == 0 || (!divides && !is_operation(product, "mul."))) return 0;
    int found = 0;
    for (const ValueGraph::Operand& operand : graph_.operands_of(graph_.node(product)).first(divides ? 1 : 2))
      found += exponential_factors(origin(operand).node, steps - 1);
    return found;
  }

  // In a sentence, if the result is made by the exponential of another number than its element less the
  // maximum. With several factors, each may be of another number.
  std::string other_exponent() const {
    const auto exponential =
        nearest(graph_.roots.at(result_), [this](NodeId id) { return is_exponential(id); });
    if (!exponential || exponential_factors(graph_.roots.at(result_)) > 1) return "";
    const double element = elements_[result_ - first_], wanted = element - largest_;
    const double argument =
        number(graph_.operands_of(graph_.node(*exponential))[0].bits, "f32") / std::numbers::log2e;
    if (!(std::abs(argument - wanted) > near_enough * std::max(1.0, std::abs(wanted)))) return "";
    return fmt::format(" {} takes exp({:.6g}) for column {}, whose element less the row's largest is "
                       "{:.6g} - {:.6g} = {:.6g}.",
                       who(*exponential), argument, result_ - first_, element, largest_, wanted);
  }

  // The element that an exponential is of: the one that takes the fewest steps to reach it, since the maximum
  // comes from others.
  std::optional<std::size_t> column_of(NodeId exponential) const {
    const auto load =
        nearest(exponential, [this](NodeId id) { return counts_.element_of(graph_.node(id)).has_value(); });
    if (!load) return std::nullopt;
    const std::size_t element = *counts_.element_of(graph_.node(*load));
    if (element < first_ || element >= first_ + columns_) return std::nullopt;
    return element - first_;
  }
  // The first such node that the value is made of, in the fewest steps.
  template <class Is>
  std::optional<NodeId> nearest(NodeId value, Is is_wanted) const {
    std::vector<NodeId> level{value};
    for (int step = 0; step < most_steps && !level.empty(); ++step) {
      std::vector<NodeId> next;
      for (const NodeId id : level) {
        if (ValueGraph::is_bare(id)) continue;
        if (is_wanted(id)) return id;
        for (const ValueGraph::Operand& operand : graph_.operands_of(graph_.node(id)))
          next.push_back(operand.node);
      }
      level = std::move(next);
    }
    return std::nullopt;
  }

  const ValueGraph& graph_;
  const Case& given_;
  std::size_t columns_, result_, first_;
  ElementCounts counts_;
  std::vector<double> elements_, times_;
  std::vector<Sum> sums_; // by node
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
