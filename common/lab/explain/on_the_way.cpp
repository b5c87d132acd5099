#include "explain/on_the_way.hpp"

#include "explain/element_words.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace lab {
namespace {

// Of each node, whether the result depends on it; `as_chosen`: without what a select passed over.
std::vector<bool> on_the_way(const FollowedResult& result, bool as_chosen = false) {
  std::vector<bool> counts(result.graph.end());
  counts[result.graph.roots[result.row]] = true;
  for (NodeId id = result.graph.end(); id-- > first_node;)
    if (counts[id])
      for (const ValueGraph::Operand& operand : result.graph.operands_of(result.graph.node(id))) {
        counts[operand.node] = true;
        if (as_chosen && result.graph.node(id).kind == NodeKind::selected) break;
      }
  return counts;
}

// What the operation makes of its operands before it rounds; nothing of other operations.
std::optional<double> before_rounding(const ValueGraph& graph, const ValueGraph::Node& node) {
  const std::string_view operation = graph.operation_of(node), of = operand_type(operation);
  const auto operands = graph.operands_of(node);
  if (operation.starts_with("cvt.") && operands.size() == 1) return number(operands[0].bits, of);
  if (operands.size() != 2) return std::nullopt;
  const double a = number(operands[0].bits, of), b = number(operands[1].bits, of);
  if (operation.starts_with("add.")) return a + b;
  if (operation.starts_with("mul.")) return a * b;
  return std::nullopt;
}

// Whether what is cut off the integer is what the program has put there: a mark in the upper half of a word.
bool cuts_off_constant(const ValueGraph& graph, const ValueGraph::Node& conversion, unsigned kept) {
  const ValueGraph::Operand& cut = graph.operands_of(conversion)[0];
  if (ValueGraph::is_bare(cut.node)) return false;
  const ValueGraph::Node& made = graph.node(cut.node);
  if (made.kind == NodeKind::packed) return true;
  return graph.operation_of(made).starts_with("or.") &&
         std::ranges::any_of(graph.operands_of(made), [&](const ValueGraph::Operand& operand) {
           return ValueGraph::is_bare(operand.node) && operand.bits >> kept == cut.bits >> kept;
         });
}

} // namespace

std::vector<NodeId> computed_on_the_way(const FollowedResult& result) {
  const std::vector<bool> counts = on_the_way(result);
  std::vector<NodeId> computed;
  for (NodeId id = first_node; id < result.graph.end(); ++id)
    if (counts[id] && result.graph.node(id).kind == NodeKind::computed) computed.push_back(id);
  return computed;
}

std::string first_not_finite(const FollowedResult& result) {
  for (const NodeId id : computed_on_the_way(result)) {
    const ValueGraph::Node& node = result.graph.node(id);
    const std::string_view operation = result.graph.operation_of(node), of = operand_type(operation),
                           to = result_type(operation);
    if (!of.starts_with('f') || !to.starts_with('f')) continue;
    const double made = number(node.bits, to);
    if (std::isfinite(made)) continue;
    const bool begins_here = std::ranges::all_of(result.graph.operands_of(node), [&](const auto& operand) {
      const double given = number(operand.bits, of);
      return !std::isnan(given) && given != made;
    });
    if (begins_here)
      return sentence("{} makes {:.10g} of {}{}.", result.words.who(node.where), made,
                      result.words.operands_of(node), result.words.operation_named(node));
    const bool is_given = std::ranges::any_of(result.graph.operands_of(node), [&](const auto& operand) {
      return operand.node == of_constants && std::isnan(number(operand.bits, of));
    });
    if (is_given) return sentence("{} uses a NaN that was made of no element.", result.words.who(node.where));
  }
  return "";
}

std::string unwritten_result_read(const FollowedResult& result) {
  const std::vector<bool> counts = on_the_way(result);
  for (NodeId id = first_node; id < result.graph.end(); ++id) {
    const ValueGraph::Node& node = result.graph.node(id);
    if (!counts[id] || node.kind != NodeKind::loaded || id == result.graph.roots[result.row]) continue;
    if (const auto unwritten = result.counts.result_at(node.address))
      return sentence("{} reads the result in column {}, in which nothing has been stored yet.",
                      result.words.who(node.where), *unwritten % result.columns);
  }
  return "";
}

std::string unreached(const FollowedResult& result) {
  const std::vector<bool> counts = on_the_way(result, true);
  std::vector<bool> is_there(result.given.n), is_read(result.given.n);
  for (NodeId id = first_node; id < result.graph.end(); ++id) {
    for (auto [element, end] = result.counts.loaded_by(result.graph.node(id)); element < end; ++element) {
      is_read[element] = true;
      if (counts[id]) is_there[element] = true;
    }
  }
  const std::size_t results_per_row = result.graph.roots.size() / result.given.rows;
  const std::size_t result_row = result.row / results_per_row, begin = result_row * result.columns;
  Indices missing;
  std::size_t missing_and_read = 0, needed = 0;
  for (std::size_t column = 0; column < result.columns; ++column) {
    if (!std::isfinite(result.input[begin + column])) continue;
    ++needed;
    if (is_there[begin + column]) continue;
    missing.push_back(column);
    missing_and_read += is_read[begin + column];
  }
  std::optional<std::size_t> other_row;
  for (std::size_t element = 0; element < result.given.n && !other_row; ++element)
    if (is_there[element] && element / result.columns != result_row) other_row = element / result.columns;
  const std::string its_row = result.given.rows == 1 ? "the row" : fmt::format("row {}", result_row);
  const std::size_t column = result.row % results_per_row;
  const std::string its_result =
      results_per_row == 1 ? "the sum" : fmt::format("the result in column {}", column);
  std::string text;
  if (other_row) text = sentence("elements of row {} get into {}.", *other_row, its_result);
  if (missing.empty()) return text;
  const std::string which =
      missing.size() == needed ? "any element" : in_words(missing, result.columns, result.given.block);
  if (missing_and_read == 0) return text + sentence("no thread reads {} of {}.", which, its_row);
  return text + sentence("nothing of {} of {} gets into {}{}.", which, its_row, its_result,
                         missing_and_read == missing.size() ? ", although they are read" : "");
}

Diagnosis rounded_to_float(const FollowedResult& result) {
  if (result.input.type == Type::float32 || result.input.type == Type::bfloat16) return {};
  for (const NodeId id : computed_on_the_way(result)) {
    const ValueGraph::Node& node = result.graph.node(id);
    if (result_type(result.graph.operation_of(node)) != "f32") continue;
    const auto exact = before_rounding(result.graph, node);
    if (!exact || *exact == number(node.bits, "f32")) continue;
    return {"rounded-to-float",
            capital(fmt::format(
                "{} makes {:.10g} of {:.17g}{}: a float keeps 24 bits, and each element is {}.",
                result.words.who(node.where), number(node.bits, "f32"), *exact,
                result.words.operation_named(node), type_in_words(name_in_ptx(result.input.type)))),
            true};
  }
  return {};
}

Diagnosis lost_bits(const FollowedResult& result) {
  for (const NodeId id : computed_on_the_way(result)) {
    const ValueGraph::Node& node = result.graph.node(id);
    const std::string_view operation = result.graph.operation_of(node), of = operand_type(operation),
                           to = result_type(operation);
    if (!operation.starts_with("cvt.") || to.find('f') != to.npos) continue;
    if (result.counts.is_taken_for_another_type(id)) continue; // a number is packed with other bits
    const std::uint64_t bits = result.graph.operands_of(node)[0].bits;
    const double before = number(bits, of), after = number(node.bits, to);
    const unsigned kept = bits_kept(of, to, bits);
    if (kept && cuts_off_constant(result.graph, node, kept)) continue;
    if (kept && of.starts_with('u'))
      return {"lost-bits",
              capital(fmt::format("{} keeps only the last {} bits of an integer.",
                                  result.words.who(node.where), kept)),
              true};
    if (before != after)
      return {"lost-bits",
              capital(fmt::format("{} converts {:.10g}, {}, to {}: {:.10g}.", result.words.who(node.where),
                                  before, type_in_words(of), type_in_words(to), after)),
              true};
  }
  return {};
}

} // namespace lab
