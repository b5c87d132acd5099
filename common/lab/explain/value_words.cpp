#include "explain/value_words.hpp"

#include "explain/element_words.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace lab {

std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::string type_in_words(std::string_view ptx) {
  constexpr std::pair<std::string_view, std::string_view> types[] = {
      {"f16", "a half"},          {"bf16", "a bfloat16"},       {"f32", "a float"},
      {"f64", "a double"},        {"s8", "a signed char"},      {"u8", "an unsigned char"},
      {"s16", "a short"},         {"u16", "an unsigned short"}, {"s32", "an int"},
      {"u32", "an unsigned int"}, {"s64", "a 64-bit int"},      {"u64", "an unsigned 64-bit int"}};
  const auto found = std::ranges::find(types, ptx, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(types) ? fmt::format("the type {}", ptx) : std::string(found->second);
}

std::string ValueWords::thread(const Where& at) const {
  return thread_in_words(graph_, at, given_.devices > 1);
}

std::string ValueWords::threads(std::vector<Where> all) const {
  const auto key = [](const Where& at) { return std::tuple(at.launch, at.block, at.thread); };
  std::ranges::sort(all, {}, key);
  const auto same = std::ranges::unique(all, {}, key);
  all.erase(same.begin(), same.end());
  const Where &first = all.front(), &last = all.back();
  if (all.size() == 1) return thread(first);
  const ValueGraph::Launch& launch = graph_.launches[first.launch];
  const bool one_launch = first.launch == last.launch;
  if (one_launch && first.block == last.block && last.thread - first.thread + 1 == all.size() &&
      all.size() > 2)
    return fmt::format("threads {} to {}{}", first.thread, last.thread,
                       launch.blocks > 1 ? fmt::format(" of block {}", first.block) : "");
  const bool one_thread =
      std::ranges::all_of(all, [&](const Where& at) { return at.thread == first.thread; });
  if (one_launch && one_thread && last.block - first.block + 1 == all.size() && all.size() > 2)
    return fmt::format("thread {} of blocks {} to {}", first.thread, first.block, last.block);
  constexpr std::size_t most = 3;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) parts.push_back(thread(all[i]));
  if (all.size() > most) parts.push_back(fmt::format("{} more", all.size() - most));
  return listed(parts);
}

std::string ValueWords::lines_of(const std::vector<NodeId>& nodes) const {
  std::set<unsigned> lines;
  for (const NodeId id : nodes) lines.insert(graph_.line(graph_.node(id).where));
  std::string text;
  for (const unsigned line : lines) text += fmt::format("{}{}", text.empty() ? "" : " and ", line);
  return fmt::format("line{} {}", lines.size() == 1 ? "" : "s", text);
}

std::string ValueWords::threads_of(const std::vector<NodeId>& nodes) const {
  std::vector<Where> all;
  for (const NodeId id : nodes) all.push_back(graph_.node(id).where);
  return threads(std::move(all));
}

// Whether it holds elements side by side.
bool ValueWords::is_word(NodeId id) const {
  const ValueGraph::Node& node = graph_.node(id);
  return node.kind == NodeKind::loaded || node.kind == NodeKind::packed ||
         (node.kind == NodeKind::computed && graph_.operation_of(node).starts_with("or."));
}

std::string ValueWords::value_of(NodeId id) const {
  const std::map<std::size_t, double> counted = counts_.elements_in(id);
  Indices elements;
  for (const auto& [element, times] : counted)
    if (times != 0) elements.push_back(element);
  if (elements.empty()) return "a value of no element";
  const double often = counted.at(elements.front());
  const bool all_alike = std::ranges::all_of(elements, [&](std::size_t i) { return counted.at(i) == often; });
  const std::string which = in_words(elements, given_.n, given_.block);
  constexpr std::string_view names[] = {"the sum of ", "the minimum of ", "the maximum of ",
                                        "the product of ", ""};
  const std::string_view of_several = names[static_cast<int>(input_.op)],
                         several = elements.size() == 1 || is_word(id) ? "" : of_several;
  if (counts_.is_selection() || (all_alike && often == 1)) return fmt::format("{}{}", several, which);
  if (all_alike) return fmt::format("{:g} times {}{}", often, several, which);
  Indices not_once;
  for (const std::size_t element : elements)
    if (counted.at(element) != 1) not_once.push_back(element);
  return fmt::format("{}{} elements that does not count {} just once", of_several, elements.size(),
                     in_words(not_once, given_.n, given_.block));
}

std::string ValueWords::operands_of(const ValueGraph::Node& node) const {
  constexpr std::size_t most = 4;
  const auto operands = graph_.operands_of(node);
  std::vector<std::string> numbers;
  for (const ValueGraph::Operand& operand : operands.first(std::min(operands.size(), most)))
    numbers.push_back(fmt::format("{:.10g}", number(operand.bits, operand_type(graph_.operation_of(node)))));
  if (operands.size() > most) numbers.push_back(fmt::format("{} more", operands.size() - most));
  return listed(numbers);
}

std::string ValueWords::operation_named(const ValueGraph::Node& node) const {
  return graph_.library_call(node.where).empty() ? fmt::format(" ({})", graph_.operation_of(node)) : "";
}

std::string ValueWords::who(const Where& at) const {
  return line_in_words(graph_, at) + thread(at);
}

} // namespace lab
