#include "explain/element_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace lab {
namespace {

using Node = ValueGraph::Node;

// Whether the operation does what the operator does; of instructions, atomics and reductions of a warp.
bool does(std::string_view operation, Operator op) {
  constexpr std::string_view names[] = {".add.", ".min.", ".max.", ".mul.",
                                        ".and."}; // in the order of Operator
  const std::string_view name = names[static_cast<int>(op)];
  const bool is_atomic = operation.starts_with("atom.") || operation.starts_with("red");
  return is_atomic ? operation.find(name) != operation.npos : operation.starts_with(name.substr(1));
}

bool is_float(std::string_view type) { // of PTX
  return type.find('f') != type.npos;
}
bool is_float(Type type) {
  return type == Type::float32 || type == Type::float64;
}

} // namespace

std::string_view name_in_ptx(Type type) {
  constexpr std::string_view names[] = {"f32", "f64", "s32", "u32", "bf16"}; // in the order of Type
  return names[static_cast<int>(type)];
}

ElementCounts::ElementCounts(const ValueGraph& graph, const Outcome& outcome, const Case& given,
                             const Sequence& input, std::size_t row)
    : graph_(graph), outcome_(outcome), given_(given), input_(input), row_(row), bits_(graph.end()),
      of_node_(graph.end()), of_element_(given.n), loads_of_(given.n), users_of_(graph.end()),
      is_retyped_(graph.end()) {
  find_values();
  find_retyped();
  find_users();
}

// An atomic operation's own value is not in the graph, but its users are.
void ElementCounts::find_values() {
  for (NodeId id = first_node; id < graph_.end(); ++id) {
    bits_[id] = graph_.node(id).bits;
    for (const ValueGraph::Operand& operand : graph_.operands_of(graph_.node(id)))
      bits_[operand.node] = operand.bits;
  }
  const std::size_t width = outcome_.results.empty() ? 0 : outcome_.bits.size() / outcome_.results.size();
  for (std::size_t row = 0; row < graph_.roots.size() && (row + 1) * width <= outcome_.bits.size(); ++row)
    std::memcpy(&bits_[graph_.roots[row]], outcome_.bits.data() + row * width, width);
}

// An integer that a float was converted to, where the next step computes in floats, or stores it as one.
void ElementCounts::find_retyped() {
  std::vector<bool> is_integer(graph_.end());
  for (NodeId id = first_node; id < graph_.end(); ++id) {
    const Node& node = graph_.node(id);
    const auto operands = graph_.operands_of(node);
    if (node.kind == Node::Kind::packed || node.kind == Node::Kind::selected) continue;
    const std::string_view operation =
        node.kind == Node::Kind::computed ? graph_.operation_of(node) : std::string_view();
    if (is_float(operand_type(operation)))
      for (const ValueGraph::Operand& operand : operands)
        if (is_integer[operand.node]) is_retyped_[operand.node] = true;
    is_integer[id] = operation.starts_with("cvt.") && is_float(operand_type(operation)) &&
                     !is_float(result_type(operation));
  }
  for (const NodeId root : graph_.roots)
    if (is_float(input_.type) && is_integer[root]) is_retyped_[root] = true;
}

std::optional<std::string_view> ElementCounts::type_given_to_library(const Node& node) const {
  if (node.kind != Node::Kind::computed || graph_.library_call(node.where).empty()) return std::nullopt;
  const std::string_view expected = operand_type(graph_.operation_of(node));
  for (const ValueGraph::Operand& operand : graph_.operands_of(node)) {
    if (ValueGraph::is_bare(operand.node)) continue;
    const Node& given = graph_.node(operand.node);
    std::string_view type;
    if (element_of(given)) type = name_in_ptx(input_.type);
    if (given.kind == Node::Kind::computed) type = result_type(graph_.operation_of(given));
    if (!type.empty() && (is_float(type) != is_float(expected) || node.width < given.width)) return type;
  }
  return std::nullopt;
}

void ElementCounts::find_users() {
  for (NodeId id = first_node; id < graph_.end(); ++id) {
    const Node& node = graph_.node(id);
    for (auto [element, end] = loaded_by(node); element < end; ++element) loads_of_[element].push_back(id);
    const auto operands = graph_.operands_of(node);
    if (operands.empty()) continue;
    const Factors factor = factors(id);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!ValueGraph::is_bare(operands[i].node) && (factor.empty() || factor[i] != 0))
        users_of_[operands[i].node].push_back(id);
  }
}

std::optional<std::size_t> ElementCounts::element_of(const Node& node) const {
  if (node.kind != Node::Kind::loaded) return std::nullopt;
  for (const Followed::Part& part : outcome_.followed.input) {
    const std::uint64_t width = size_of(input_.type), inside = node.address - part.address;
    const std::size_t element = part.first + inside / width;
    if (node.address >= part.address && inside / width < part.n && inside % width == 0 && element < given_.n)
      return element;
  }
  return std::nullopt;
}

ElementCounts::Loaded ElementCounts::loaded_by(const Node& node) const {
  const auto first = element_of(node);
  if (!first) return {};
  const std::size_t count = std::max<std::size_t>(1, node.width / size_of(input_.type));
  return {*first, std::min(*first + count, given_.n)};
}

std::optional<std::size_t> ElementCounts::result_at(std::uint64_t address) const {
  const std::size_t width =
      outcome_.bits.empty() ? size_of(input_.type) : outcome_.bits.size() / outcome_.results.size();
  const std::uint64_t result = (address - outcome_.followed.results) / width;
  if (address < outcome_.followed.results || result >= graph_.roots.size()) return std::nullopt;
  return result;
}

// The value that the bits have in this node: the elements' type, where it is as wide.
double ElementCounts::value_in(const Node& node, std::uint64_t bits) const {
  const std::size_t width = size_of(input_.type);
  if (node.kind != Node::Kind::computed) return load_value(input_.type, &bits);
  const std::string_view type = result_type(graph_.operation_of(node));
  const bool is_as_wide = type.ends_with(width == 4 ? "32" : "64");
  return is_as_wide && is_choice(node) ? load_value(input_.type, &bits) : number(bits, type);
}

bool ElementCounts::is_choice(const Node& node) const {
  if (node.kind == Node::Kind::selected) return true;
  const std::string_view operation = graph_.operation_of(node);
  return node.kind == Node::Kind::computed &&
         (does(operation, Operator::min) || does(operation, Operator::max));
}

// Whether a value of 4 bytes stays the lower half of a word, beside a mark that is put there or taken away.
bool ElementCounts::is_beside_a_mark(const Node& node) const {
  const std::string_view operation = graph_.operation_of(node);
  const auto operands = graph_.operands_of(node);
  const auto lower = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits); };
  if (size_of(input_.type) != 4 || operands.empty() || lower(operands[0].bits) != lower(node.bits))
    return false;
  const bool is_mark = operation.starts_with("or.b64") && operands.size() == 2 &&
                       ValueGraph::is_bare(operands[1].node) && lower(operands[1].bits) == 0;
  return is_mark || (operation == "cvt.u32.u64" && operands[0].bits != node.bits);
}

ElementCounts::Factors ElementCounts::factors(NodeId id) const {
  const Node& node = graph_.node(id);
  if (is_beside_a_mark(node)) return {1};
  if (node.kind == Node::Kind::packed) return Factors(node.operands, 1);
  const bool is_extreme = input_.op == Operator::min || input_.op == Operator::max;
  if (is_extreme && is_choice(node)) return of_choice(id);
  if (node.kind == Node::Kind::selected) {
    Factors first(node.operands, is_selection() ? 1 : 0);
    if (!first.empty()) first[0] = 1;
    return first;
  }
  const std::string_view operation = graph_.operation_of(node);
  if (type_given_to_library(node)) return {};
  if (does(operation, input_.op)) return Factors(node.operands, 1);
  if (operation.starts_with("cvt.") && node.operands == 1) {
    if (is_taken_for_another_type(id)) return {};
    const double before = number(graph_.operands_of(node)[0].bits, operand_type(operation)),
                 after = number(node.bits, result_type(operation));
    const bool rounds_result = id == graph_.roots[row_] && static_cast<float>(before) == after;
    return before == after || rounds_result ? Factors{1} : Factors();
  }
  return input_.op == Operator::add ? in_sum(node) : Factors();
}

// All operands count if the one that is kept is the one that the operator keeps; otherwise that one alone.
ElementCounts::Factors ElementCounts::of_choice(NodeId id) const {
  const Node& node = graph_.node(id);
  const auto operands = graph_.operands_of(node);
  if (node.kind == Node::Kind::selected && node.width != size_of(input_.type)) {
    Factors first(operands.size());
    if (!first.empty()) first[0] = 1;
    return first;
  }
  const double kept = value_in(node, bits_[id]);
  double best = identity(input_.type, input_.op);
  Factors same(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const double value = value_in(node, operands[i].bits);
    if (std::isnan(value)) return Factors(operands.size(), 1);
    best = apply(input_.op, best, value);
    same[i] = value == kept ? 1 : 0;
  }
  if (kept == best || std::isnan(kept)) return Factors(operands.size(), 1);
  return std::ranges::count(same, 1) == 0 ? Factors() : same;
}

ElementCounts::Factors ElementCounts::in_sum(const Node& node) const {
  const auto operands = graph_.operands_of(node);
  const std::size_t count = operands.size();
  const std::string_view operation = graph_.operation_of(node), type = operand_type(operation);
  const auto value = [&](std::size_t i) { return number(operands[i].bits, type); };
  const auto bare = [&](std::size_t i) { return ValueGraph::is_bare(operands[i].node); };
  const auto begins = [&](std::string_view name) { return operation.starts_with(name); };
  if (begins("mma.")) return in_product(node);
  if (input_.type == Type::bfloat16) { // two fill a word
    if (begins("shl.") && count == 2 && bare(1) && operands[1].bits == 16) return {1, 0};
    if (begins("or.") && count == 2 && (operands[0].bits & operands[1].bits) == 0) return {1, 1};
  }
  if (begins("sub.") && count == 2) return {1, -1};
  if (begins("neg.") && count == 1) return {-1};
  if (begins("avg.")) return Factors(count, 1.0 / static_cast<double>(count));
  if (begins("mul.") && count == 2 && bare(0) != bare(1))
    return bare(0) ? Factors{0, value(0)} : Factors{value(1), 0};
  if ((begins("fma.") || begins("mad.")) && count == 3 && bare(0) != bare(1))
    return bare(0) ? Factors{0, value(0), 1} : Factors{value(1), 0, 1};
  if (begins("shl.") && count == 2 && bare(1))
    return {std::ldexp(1.0, static_cast<int>(std::min<std::uint64_t>(operands[1].bits, 64))), 0};
  return {};
}

// An accumulator of a product of matrices: what it was before, and then pairs of factors. The elements of the
// factor that comes from nothing in memory must be equal.
ElementCounts::Factors ElementCounts::in_product(const Node& node) const {
  const auto operands = graph_.operands_of(node);
  Factors found(operands.size());
  found[0] = 1;
  for (std::size_t a = 1, b = 2; b < operands.size(); a += 2, b += 2) {
    const bool a_is_bare = ValueGraph::is_bare(operands[a].node),
               both = a_is_bare == ValueGraph::is_bare(operands[b].node);
    const std::uint64_t constant = operands[a_is_bare ? a : b].bits;
    if (both && a_is_bare && (operands[a].bits == 0 || operands[b].bits == 0)) continue;
    if (both || input_.type != Type::bfloat16 || constant >> 16 != (constant & 0xffff)) return {};
    found[a_is_bare ? b : a] = load_value(Type::bfloat16, &constant);
  }
  return found;
}

// What a node counts, its operands count with its factors.
void ElementCounts::count_from(const std::vector<NodeId>& roots) {
  std::ranges::fill(of_node_, 0);
  std::ranges::fill(of_element_, 0);
  terms_.clear();
  for (const NodeId root : roots) {
    of_node_[root] += 1;
    if (ValueGraph::is_bare(root)) terms_.push_back({root, root, outcome_.results[row_], 1});
  }
  for (NodeId id = graph_.end(); id-- > first_node;) {
    const double times = of_node_[id];
    if (times == 0) continue;
    const Node& node = graph_.node(id);
    const auto add_term = [&](NodeId origin, double value, double counted) {
      // It has lost all of the value.
      const bool is_another_operation = origin == id && node.kind == Node::Kind::computed &&
                                        (is_selection() || graph_.operation_of(node).starts_with("cvt.") ||
                                         graph_.operation_of(node).starts_with("redux."));
      if (is_another_operation || value != identity(input_.type, input_.op))
        terms_.push_back({id, origin, value, counted});
    };
    if (auto [element, end] = loaded_by(node); element < end) {
      for (; element < end; ++element) of_element_[element] += times;
      continue;
    }
    const auto operands = graph_.operands_of(node);
    const Factors factor = operands.empty() ? Factors() : factors(id);
    if (factor.empty())
      add_term(id, is_retyped_[id] ? load_value(input_.type, &bits_[id]) : value_in(node, bits_[id]), times);
    for (std::size_t i = 0; i < factor.size(); ++i) {
      const double counted = times * factor[i];
      if (counted == 0) continue;
      of_node_[operands[i].node] += counted;
      if (!ValueGraph::is_bare(operands[i].node)) continue;
      const bool is_computed = node.kind == Node::Kind::computed && !is_choice(node);
      const double value = is_computed ? number(operands[i].bits, operand_type(graph_.operation_of(node)))
                                       : value_in(node, operands[i].bits);
      add_term(operands[i].node, value, counted);
    }
  }
}

// What was loaded from elsewhere came there in a way that is not followed.
bool ElementCounts::makes_result() const {
  const double got = outcome_.results[row_];
  if (std::ranges::any_of(terms_, [&](const Term& term) {
        return !ValueGraph::is_bare(term.node) && graph_.node(term.node).kind == Node::Kind::loaded &&
               !result_at(graph_.node(term.node).address);
      }))
    return false;
  if (is_selection()) {
    double best = identity(input_.type, input_.op);
    for (std::size_t i = 0; i < given_.n; ++i)
      if (of_element_[i] != 0) best = apply(input_.op, best, input_[i]);
    for (const Term& term : terms_) best = apply(input_.op, best, term.value);
    return best == got;
  }
  const bool is_product = input_.op == Operator::product;
  double total = is_product ? 1 : 0, magnitude = 0, operations = 0;
  const auto take = [&](double value, double times) {
    total = is_product ? total * std::pow(value, times) : total + value * times;
    magnitude += std::abs(value * times), operations += std::abs(times);
  };
  for (std::size_t i = 0; i < given_.n; ++i)
    if (of_element_[i] != 0) take(input_[i], of_element_[i]);
  for (const Term& term : terms_) take(term.value, term.times);
  if (total == got) return true;
  const bool wraps = input_.type == Type::int32 || input_.type == Type::uint32;
  if (wraps) return !is_product && std::remainder(total - got, 0x1p32) == 0;
  // Elements that count so often that a float must round on the way: each addition may then be off by one
  // unit, and most of these errors cancel out.
  constexpr double exact_up_to = 0x1p24, most_rounding = 0x1p-10;
  const bool rounds = given_.kind == Kind::rounding || magnitude > exact_up_to;
  const double unit = input_.type == Type::float64 ? 0x1p-53 : 0x1p-24;
  return rounds && std::abs(total - got) <= (is_product ? std::abs(total) : magnitude) *
                                                std::min(operations * unit, most_rounding);
}

// A result that the host put there was made of what it had copied to it: of all that, or of the last copy.
bool ElementCounts::explain_result() {
  const NodeId root = graph_.roots[row_];
  if (ValueGraph::is_bare(root) || graph_.node(root).kind != Node::Kind::host) {
    count_from({root});
    return makes_result();
  }
  std::vector<NodeId> all;
  for (auto copy = graph_.host_copies.rbegin(); copy != graph_.host_copies.rend(); ++copy) {
    for (const ValueGraph::Operand& value : copy->values) all.push_back(value.node);
    count_from(all);
    if (makes_result()) return true;
  }
  return false;
}

std::map<std::size_t, double> ElementCounts::elements_in(NodeId node) const {
  std::map<NodeId, double, std::greater<>> open{{node, 1}}; // operands have lower numbers
  std::map<std::size_t, double> elements;
  while (!open.empty()) {
    const auto [id, times] = *open.begin();
    open.erase(open.begin());
    if (ValueGraph::is_bare(id) || times == 0) continue;
    const Node& each = graph_.node(id);
    for (auto [element, end] = loaded_by(each); element < end; ++element) elements[element] += times;
    if (each.operands == 0) continue;
    const Factors factor = factors(id);
    const auto operands = graph_.operands_of(each);
    for (std::size_t i = 0; i < operands.size(); ++i)
      open[operands[i].node] += times * (factor.empty() ? 1 : factor[i]);
  }
  return elements;
}

std::optional<ElementCounts::Choice> ElementCounts::last_wrong_choice(std::size_t element) const {
  std::vector<bool> holds(graph_.end());
  for (const NodeId load : loads_of_[element]) holds[load] = true;
  const double value = input_[element];
  std::optional<Choice> last;
  for (NodeId id = first_node; id < graph_.end(); ++id) {
    const Node& node = graph_.node(id);
    const auto operands = graph_.operands_of(node);
    const bool has_it =
        std::ranges::any_of(operands, [&](const ValueGraph::Operand& each) { return holds[each.node]; });
    if (!has_it) continue;
    const double kept = value_in(node, bits_[id]);
    if (kept == value)
      holds[id] = true;
    else if (is_choice(node) && apply(input_.op, kept, value) == value)
      last = Choice{id, kept, value};
  }
  return last;
}

} // namespace lab
