// How often each element counts in a result: from the result back through the graph of its values.
#pragma once

#include "explain/value_graph.hpp"
#include "input/case.hpp"
#include "run/runner.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace lab {

std::string_view name_in_ptx(Type type);

class ElementCounts {
public:
  struct Term {        // of the result, and no element
    NodeId node = 0;   // that it went into; or from which it comes, if that is `origin`
    NodeId origin = 0; // a bare value, or a node that no element explains
    double value = 0, times = 0;
  };
  // A value that was passed over for another although the operator would have kept it.
  struct Choice {
    NodeId node = 0; // that keeps the other one
    double kept = 0, passed_over = 0;
  };

  // Of the result of `row` in `outcome`, all of which must outlive this.
  ElementCounts(const ValueGraph& graph, const Outcome& outcome, const Case& given, const Sequence& input,
                std::size_t row);

  // Whether what counts makes the result that was got, to the bit, or within a float's rounding where sums
  // round. If it does not, it is of no use.
  bool explain_result();
  // What these nodes together are made of.
  void count_from(const std::vector<NodeId>& roots);

  double of_element(std::size_t element) const { return of_element_[element]; }
  double of_node(NodeId id) const { return of_node_[id]; }
  const std::vector<Term>& terms() const { return terms_; }

  // The loads of an element, in order; a node's users, as far as they count it.
  const std::vector<NodeId>& loads_of(std::size_t element) const { return loads_of_[element]; }
  const std::vector<NodeId>& users_of(NodeId id) const { return users_of_[id]; }
  std::optional<std::size_t> element_of(const ValueGraph::Node& node) const; // the first one
  // Those that a load brings: one, or several that fill a word.
  struct Loaded {
    std::size_t first = 0, end = 0;
  };
  Loaded loaded_by(const ValueGraph::Node& node) const;
  // How often each element counts in a node.
  std::map<std::size_t, double> elements_in(NodeId node) const;
  // The last step that had this element's value and kept a worse one. Of minima and maxima.
  std::optional<Choice> last_wrong_choice(std::size_t element) const;

  // Of minima and maxima, and bitwise and: an element that takes part twice makes no difference.
  bool is_selection() const { return input_.op != Operator::add && input_.op != Operator::product; }
  std::optional<std::size_t> result_at(std::uint64_t address) const;
  // Whether the operation combines what it takes as the operator does, or only passes it on.
  bool is_step_of_operator(NodeId id) const { return !factors(id).empty(); }
  double value_of(NodeId id) const { return value_in(graph_.node(id), bits_[id]); }
  // Whether its bits, an integer's, are used as those of a float.
  bool is_taken_for_another_type(NodeId id) const { return is_retyped_[id]; }
  // The type of what a library was given, as PTX names it, if the call names another.
  std::optional<std::string_view> type_given_to_library(const ValueGraph::Node& node) const;

private:
  // How an operation on a value's way combines its operands: each counts so often. Empty if it is none of
  // those that an operator needs.
  using Factors = std::vector<double>;

  Factors factors(NodeId id) const;
  bool is_beside_a_mark(const ValueGraph::Node& node) const;
  Factors of_choice(NodeId id) const;
  Factors in_sum(const ValueGraph::Node& node) const;
  Factors in_product(const ValueGraph::Node& node) const;
  bool is_choice(const ValueGraph::Node& node) const;
  double value_in(const ValueGraph::Node& node, std::uint64_t bits) const;
  void find_values();
  void find_retyped();
  void find_users();
  bool makes_result() const;

  const ValueGraph& graph_;
  const Outcome& outcome_;
  const Case& given_;
  const Sequence& input_;
  const std::size_t row_;
  std::vector<std::uint64_t> bits_; // by node
  std::vector<double> of_node_, of_element_;
  std::vector<Term> terms_;
  std::vector<std::vector<NodeId>> loads_of_, users_of_;
  std::vector<bool> is_retyped_; // by node
};

} // namespace lab
