// Values and those who made them, in words.
#pragma once

#include "explain/element_counts.hpp"
#include "explain/value_graph.hpp"
#include "input/sequence.hpp"

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lab {

// "a, b and c"
std::string listed(const std::vector<std::string>& parts);

// A sentence that follows others.
template <class... Values>
std::string sentence(fmt::format_string<Values...> form, Values&&... values) {
  return " " + capital(fmt::format(form, std::forward<Values>(values)...));
}

// "f32" as the type that a student would write, "a float".
std::string type_in_words(std::string_view ptx);

class ValueWords {
public:
  ValueWords(const ValueGraph& graph, const ElementCounts& counts, const Case& given, const Sequence& input)
      : graph_(graph), counts_(counts), given_(given), input_(input) {}

  std::string thread(const Where& at) const;
  // "threads 0 to 31 of block 0", "thread 0 of blocks 0 to 3", or the first few.
  std::string threads(std::vector<Where> all) const;
  std::string threads_of(const std::vector<NodeId>& nodes) const;
  std::string lines_of(const std::vector<NodeId>& nodes) const;
  // "element 5", "the sum of elements 0 to 31", "2 times element 5".
  std::string value_of(NodeId id) const;
  // "3, 4, 5, 6 and 28 more": the numbers that an operation takes.
  std::string operands_of(const ValueGraph::Node& node) const;
  // " (add.f32)"; a library's call says it itself.
  std::string operation_named(const ValueGraph::Node& node) const;
  // "in line 12, thread 3"; a library's call alone, if its line is unknown.
  std::string who(const Where& at) const;

private:
  bool is_word(NodeId id) const;

  const ValueGraph& graph_;
  const ElementCounts& counts_;
  const Case& given_;
  const Sequence& input_;
};

} // namespace lab
