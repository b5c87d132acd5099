#include "explain/value_graph.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace lab {
namespace {

using nlohmann::json;

ValueGraph::Where where_from(const json& at) {
  return {at.at(0), at.at(1), at.at(2), at.at(3)};
}

ValueGraph::Operand operand_from(const json& operand) {
  return {operand.at(0), operand.at(1)};
}

void check(bool holds) {
  if (!holds) throw std::runtime_error("the emulator's graph of values names what is not in it");
}

// Operands come before what is made of them, so that a walk back ends.
void check_all(const ValueGraph& graph) {
  const auto check_where = [&](const ValueGraph::Where& at) {
    check(at.place < graph.places.size() && at.launch < graph.launches.size());
  };
  const auto check_node = [&](std::uint32_t number) { check(number < graph.end()); };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ValueGraph::Node& node = graph.nodes[i];
    check_where(node.where);
    check(std::uint64_t{node.first_operand} + node.operands <= graph.operands.size());
    for (const ValueGraph::Operand& operand : graph.operands_of(node)) check(operand.node < first_node + i);
  }
  for (const std::uint32_t root : graph.roots) check_node(root);
  for (const ValueGraph::Loss& loss : graph.losses) {
    check_node(loss.node), check_where(loss.stored), check_where(loss.by);
    check(!ValueGraph::is_bare(loss.node));
  }
  for (const ValueGraph::HostCopy& copy : graph.host_copies)
    for (const ValueGraph::Operand& value : copy.values) check_node(value.node);
}

} // namespace

bool is_same_thread(const ValueGraph::Where& one, const ValueGraph::Where& other) {
  return one.launch == other.launch && one.block == other.block && one.thread == other.thread;
}

std::string line_in_words(const ValueGraph& graph, const ValueGraph::Where& at) {
  const ValueGraph::Place& place = graph.places[at.place];
  if (place.line == 0) return "";
  const std::string call = place.call_line ? fmt::format(" (called in line {})", place.call_line) : "";
  return fmt::format("in line {}{}, ", place.line, call);
}

std::string thread_in_words(const ValueGraph& graph, const ValueGraph::Where& at, bool several_devices) {
  if (!graph.library_call(at).empty()) return graph.library_call(at);
  const ValueGraph::Launch& launch = graph.launches[at.launch];
  std::string text = fmt::format("thread {}", at.thread);
  if (launch.blocks > 1) text += fmt::format(" of block {}", at.block);
  if (several_devices) text += fmt::format(" on device {}", launch.device);
  return text;
}

std::string capital(std::string text) {
  if (!text.empty() && !text.starts_with("nccl"))
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string_view operand_type(std::string_view operation) {
  return operation.substr(operation.rfind('.') + 1);
}

// Of a conversion, what it converts to stands before what it converts from.
std::string_view result_type(std::string_view operation) {
  const std::string_view of = operand_type(operation);
  return operation.starts_with("cvt.") ? operand_type(operation.substr(0, operation.size() - of.size() - 1))
                                       : of;
}

// PTX knows no sign of an integer that is cut off.
unsigned bits_kept(std::string_view of, std::string_view to, std::uint64_t bits) {
  const auto width = [](std::string_view type) {
    unsigned found = 0;
    if (type.starts_with('s') || type.starts_with('u'))
      std::from_chars(type.data() + 1, type.data() + type.size(), found);
    return found;
  };
  const unsigned kept = std::min(width(of), width(to));
  return kept < 64 && kept > 0 && bits >> kept != 0 ? kept : 0;
}

double number(std::uint64_t bits, std::string_view type) {
  if (type == "f64") return std::bit_cast<double>(bits);
  if (type == "f32") return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type == "bf16") return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  if (type.starts_with('u')) return static_cast<double>(bits);
  if (type.ends_with("64")) return static_cast<double>(static_cast<std::int64_t>(bits));
  // A conversion may take the lower half of a register; then the whole of it is the value.
  if (type.ends_with("16") && bits <= 0xffff) return static_cast<double>(static_cast<std::int16_t>(bits));
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
}

ValueGraph value_graph_from(const std::string& text) {
  const json all = json::parse(text);
  ValueGraph graph;
  graph.complete = all.at("complete");
  graph.roots = all.at("roots").get<std::vector<std::uint32_t>>();
  for (const json& place : all.at("places"))
    graph.places.push_back({place.at(0), place.at(2), place.at(3), place.at(4)});
  if (graph.places.empty()) graph.places.emplace_back();
  for (const json& launch : all.at("launches"))
    graph.launches.push_back({launch.at(1), launch.at(2), launch.at(3), launch.at(4), launch.at(5)});
  graph.launches.emplace_back(); // of what the host does after the last one
  graph.nodes.reserve(all.at("nodes").size());
  for (const json& node : all.at("nodes")) {
    const int kind = node.at(0);
    check(kind >= 0 && kind <= static_cast<int>(ValueGraph::Node::Kind::packed));
    graph.nodes.push_back({static_cast<ValueGraph::Node::Kind>(kind), node.at(1), where_from(node.at(2)),
                           node.at(3), node.at(4), node.at(5), node.at(6)});
  }
  graph.operands.reserve(all.at("operands").size());
  for (const json& operand : all.at("operands")) graph.operands.push_back(operand_from(operand));
  for (const json& loss : all.at("losses")) {
    const bool overwritten = !loss.at(3).is_null();
    graph.losses.push_back({loss.at(0), loss.at(1), where_from(loss.at(2)),
                            overwritten ? where_from(loss.at(3)) : ValueGraph::Where{}, overwritten});
  }
  for (const json& copy : all.at("host_copies")) {
    ValueGraph::HostCopy& added = graph.host_copies.emplace_back();
    for (std::size_t i = 1; i < copy.size(); ++i) added.values.push_back(operand_from(copy[i]));
  }
  check_all(graph);
  return graph;
}

} // namespace lab
