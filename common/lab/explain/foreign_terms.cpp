#include "explain/foreign_terms.hpp"

#include "explain/element_words.hpp"
#include "explain/on_the_way.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <string_view>
#include <vector>

namespace lab {
namespace {

// Whether the operator would make the same of the operands, as a sum and a product do of 2 and 2.
bool makes_the_same(const FollowedResult& result, const ValueGraph::Node& node) {
  const std::string_view operation = result.graph.operation_of(node);
  double made = identity(result.input.type, result.input.op);
  for (const ValueGraph::Operand& operand : result.graph.operands_of(node))
    made = apply(result.input.op, made, number(operand.bits, operand_type(operation)));
  return number(node.bits, result_type(operation)) == made;
}

// The same operation where it can be seen that it is another one.
NodeId most_telling(const FollowedResult& result, NodeId step) {
  if (!makes_the_same(result, result.graph.node(step))) return step;
  for (const NodeId id : computed_on_the_way(result)) {
    const ValueGraph::Node& node = result.graph.node(id);
    if (id < step && !makes_the_same(result, node) &&
        result.graph.operation_of(node) == result.graph.operation_of(result.graph.node(step)))
      return id;
  }
  return step;
}

// The lanes that give this value, made of nothing in memory, to an instruction that reduces their warp. Its
// own thread is the warp's first, whichever gave the value.
std::vector<Where> lanes_that_give(const ValueGraph& graph, const ValueGraph::Node& node, double value) {
  std::vector<Where> found;
  const std::string_view operation = graph.operation_of(node);
  const auto operands = graph.operands_of(node);
  if (!operation.starts_with("redux.") || operands.size() != 32) return found;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    Where of_lane = node.where;
    of_lane.thread = node.where.thread / 32 * 32 + lane;
    if (ValueGraph::is_bare(operands[lane].node) &&
        number(operands[lane].bits, operand_type(operation)) == value)
      found.push_back(of_lane);
  }
  return found;
}

// Elements of another row.
Finding of_another_row(const FollowedResult& result) {
  const std::size_t columns = result.columns;
  const auto counts = [&](std::size_t element) { return result.counts.of_element(element) != 0; };
  for (std::size_t i = 0; i < result.given.n; ++i) {
    if (!counts(i) || (i >= result.first && i < result.first + columns)) continue;
    const std::size_t begin = i - i % columns;
    Indices of_row;
    for (std::size_t j = begin; j < begin + columns; ++j)
      if (counts(j)) of_row.push_back(j - begin);
    const NodeId load = *std::ranges::find_if(result.counts.loads_of(i),
                                              [&](NodeId each) { return result.counts.of_node(each) != 0; });
    const Where& read = result.graph.node(load).where;
    const bool one = of_row.size() == 1, all = of_row.size() == columns;
    const std::string which = all && !one ? "all elements" : in_words(of_row, columns, result.given.block);
    return {"other-row",
            sentence("{} of row {}{} count{} in the result of row {}; in line {}, {} reads {}.", which,
                     begin / columns, all ? "" : ", counted from its first,", one ? "s" : "", result.row,
                     result.graph.line(read), result.words.thread(read), one ? "it" : "the first of them")};
  }
  return {};
}

// What must be there in place of a value that takes part and is no element.
std::string what_it_must_be(const FollowedResult& result, double value) {
  const Type type = result.input.type;
  const bool is_smallest_positive = (type == Type::float32 && value == std::numeric_limits<float>::min()) ||
                                    (type == Type::float64 && value == std::numeric_limits<double>::min());
  std::string must;
  if (is_smallest_positive)
    must =
        fmt::format(" That is numeric_limits<{}>::min(), the smallest normal number above 0.", name_of(type));
  if (is_smallest_positive || result.input.op != Operator::add)
    must += fmt::format(" What takes part beside the elements must be the identity, {:.10g}.",
                        identity(type, result.input.op));
  return must;
}

} // namespace

Finding wrong_operation(const FollowedResult& result) {
  const ValueGraph& graph = result.graph;
  const ElementCounts::Term* first = nullptr;
  for (const ElementCounts::Term& term : result.counts.terms())
    if (!ValueGraph::is_bare(term.node) && term.origin == term.node && (!first || term.node < first->node) &&
        graph.node(term.node).kind == NodeKind::computed)
      first = &term;
  if (!first) return {};
  const ValueGraph::Node& node = graph.node(most_telling(result, first->node));
  const std::string_view operation = graph.operation_of(node), of = operand_type(operation),
                         to = result_type(operation);
  const std::string who = result.words.who(node.where), named = result.words.operation_named(node);
  const std::string values = result.words.operands_of(node);
  const double made = number(node.bits, to);
  const auto found = [](std::string text) { return Finding{"operation", std::move(text)}; };
  if (operation.starts_with("atom.") || operation.starts_with("red.")) // what it makes is not known
    return found(sentence("{} combines {}{}.", who, values, named));
  if (!operation.starts_with("cvt."))
    return found(sentence("{} makes {:.10g} of {}{}.", who, made, values, named));
  if (const unsigned kept = bits_kept(of, to, graph.operands_of(node)[0].bits))
    return found(sentence("{} keeps only the last {} bits of an integer.", who, kept));
  std::string text = sentence("{} converts {}, {}, to {}: {:.10g}.", who, values, type_in_words(of),
                              type_in_words(to), made);
  if (result.counts.is_taken_for_another_type(first->node))
    text += sentence("the bits of that are then taken for those of {}.",
                     type_in_words(name_in_ptx(result.input.type)));
  return found(std::move(text));
}

Finding foreign_term(const FollowedResult& result) {
  if (Finding found = of_another_row(result); !found.kind.empty()) return found;
  std::vector<ElementCounts::Term> terms = result.counts.terms();
  // A value that is not the result has made no difference to a minimum or maximum.
  if (result.counts.is_selection())
    std::erase_if(terms, [&](const ElementCounts::Term& term) { return term.value != result.got; });
  if (terms.empty()) return {};
  const ElementCounts::Term& term =
      *std::ranges::min_element(terms, {}, &ElementCounts::Term::node); // in time
  const char* const origin = term.origin == of_thread_numbers ? "it is made of a thread's own number"
                             : term.origin == of_arguments ? "it comes from the launch's arguments or sizes"
                                                           : "it is a constant of the program";
  const double no_elements = identity(result.input.type, result.input.op);
  if (ValueGraph::is_bare(term.node)) {
    if (result.columns != 0) return {}; // that no element counts has been said
    return {
        "wrong-identity",
        fmt::format("There are no elements, so the result must be the identity, {:.10g}. It is {:.10g}: {}.",
                    no_elements, term.value, origin)};
  }
  const ValueGraph::Node& node = result.graph.node(term.node);
  if (term.origin == term.node) {
    if (node.kind != NodeKind::loaded) return {}; // the host's; or a wrong operation, which has been said
    std::string text =
        fmt::format(" The value {:.10g} that stood in the result before the launch counts too.", term.value);
    if (result.given.n == 0)
      text += fmt::format(" Without elements, the result must be the identity, {:.10g}.", no_elements);
    return {"old-result", std::move(text)};
  }
  const std::string must = what_it_must_be(result, term.value);
  if (const std::vector<Where> givers = lanes_that_give(result.graph, node, term.value); !givers.empty())
    return {"foreign", sentence("in line {}, {} give{} {:.10g} to the reduction of {} warp: {}.{}",
                                result.graph.line(node.where), result.words.threads(givers),
                                givers.size() == 1 ? "s" : "", term.value,
                                givers.size() == 1 ? "its" : "their", origin, must)};
  return {"foreign", sentence("in line {}, {} takes {:.10g} as a value: {}.{}", result.graph.line(node.where),
                              result.words.thread(node.where), term.value, origin, must)};
}

} // namespace lab
