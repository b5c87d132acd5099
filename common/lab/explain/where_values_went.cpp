#include "explain/where_values_went.hpp"

#include "explain/element_words.hpp"
#include "explain/value_graph.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace lab {
namespace {

using NodeKind = ValueGraph::Node::Kind;
using NodeId = std::uint32_t;
using Where = ValueGraph::Where;

constexpr std::size_t none = static_cast<std::size_t>(-1);

bool has(std::string_view operation, std::string_view part) {
  return operation.find(part) != std::string_view::npos;
}

// Whether the operation does what the operator does; of instructions, atomics and reductions of a warp.
bool does(std::string_view operation, Operator op) {
  const bool is_atomic = operation.starts_with("atom.") || operation.starts_with("red");
  const auto named = [&](std::string_view name) {
    return is_atomic ? has(operation, fmt::format(".{}.", name))
                     : operation.starts_with(fmt::format("{}.", name));
  };
  switch (op) {
  case Operator::add:
    return named("add");
  case Operator::product:
    return named("mul");
  case Operator::min:
    return named("min");
  case Operator::max:
    return named("max");
  case Operator::bitwise_and:
    return named("and");
  }
  return false;
}

// The value that the bits have in this type of PTX's, such as "f32".
double number(std::uint64_t bits, std::string_view type) {
  if (type == "f64") return std::bit_cast<double>(bits);
  if (type == "f32") return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type.starts_with('u')) return static_cast<double>(bits);
  if (type.ends_with("64")) return static_cast<double>(static_cast<std::int64_t>(bits));
  // A conversion may take the lower half of a register; then the whole of it is the value.
  if (type.ends_with("16") && bits <= 0xffff) return static_cast<double>(static_cast<std::int16_t>(bits));
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
}

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

// One that follows others.
template <class... Values>
std::string sentence(fmt::format_string<Values...> form, Values&&... values) {
  return " " + capital(fmt::format(form, std::forward<Values>(values)...));
}

std::string_view last_part(std::string_view operation) {
  return operation.substr(operation.rfind('.') + 1);
}

// The last part of a conversion's name is what it converts from, and the one before it what to.
std::string_view result_type(std::string_view operation) {
  const std::string_view of = last_part(operation);
  return operation.starts_with("cvt.") ? last_part(operation.substr(0, operation.size() - of.size() - 1))
                                       : of;
}

// How an operation on a sum's way combines its operands: each counts so often.
struct Factors {
  std::vector<double> of;
  bool known = false; // it is one of those that take sums of multiples
};

class Explanation {
public:
  Explanation(const ValueGraph& graph, const Outcome& outcome, const Case& given, const Sequence& input,
              std::size_t row)
      : graph_(graph), followed_(outcome.followed), given_(given), input_(input), got_(outcome.results[row]),
        row_(row), columns_(given.n / given.rows), first_(row * columns_), counts_(graph.end()),
        by_element_(given.n) {}

  Diagnosis diagnosis();

private:
  Diagnosis of_the_host();
  struct Term {        // of the result, and no element
    NodeId node = 0;   // that it went into; or from which it comes, if that is `origin`
    NodeId origin = 0; // a bare value, or a node that no element explains
    double value = 0, times = 0;
  };

  // An element that takes part twice makes no difference.
  bool is_selection() const { return input_.op != Operator::add && input_.op != Operator::product; }
  std::size_t element_of(const ValueGraph::Node& node) const;
  bool is_result(std::uint64_t address) const;
  Factors factors(const ValueGraph::Node& node) const;
  void count_from(const std::vector<NodeId>& roots);
  bool explains() const;
  bool count();
  std::string explain_elements();
  std::string explain_operation();
  std::string explain_terms();
  std::string unread(const Indices& elements, std::size_t missing);
  std::string reads();
  std::string lost(const Indices& elements, std::size_t missing);
  std::string counted_often(const Indices& elements);
  std::string thread(const Where& at) const;
  std::string threads(std::vector<Where> all) const;
  std::string value_of(NodeId node) const;
  void find_users();
  std::map<std::size_t, double> elements_in(NodeId node) const;

  const ValueGraph& graph_;
  const Followed& followed_;
  const Case& given_;
  const Sequence& input_;
  const double got_;
  const std::size_t row_, columns_, first_;
  std::vector<double> counts_;                  // by node: how often it counts in the result
  std::vector<std::vector<NodeId>> by_element_; // the loads of each, in order
  std::vector<double> times_;                   // by element
  std::vector<Term> terms_;
  std::vector<std::vector<NodeId>> users_; // by node: those that count it
  std::string kind_;
  bool reads_are_told_ = false, nothing_stored_ = false;
};

// ---- counting

std::size_t Explanation::element_of(const ValueGraph::Node& node) const {
  if (node.kind != NodeKind::loaded) return none;
  for (const Followed::Part& part : followed_.input) {
    const std::uint64_t width = size_of(input_.type), inside = node.address - part.address;
    const std::size_t element = part.first + inside / width;
    if (node.address >= part.address && inside / width < part.n && inside % width == 0 && element < given_.n)
      return element;
  }
  return none;
}

bool Explanation::is_result(std::uint64_t address) const {
  return address - followed_.results < given_.rows * size_of(input_.type);
}

Factors Explanation::factors(const ValueGraph::Node& node) const {
  const auto operands = graph_.operands_of(node);
  const std::size_t count = operands.size();
  if (node.kind == NodeKind::packed) return {std::vector<double>(count, 1), true};
  if (node.kind == NodeKind::selected) {
    std::vector<double> of(count, is_selection() ? 1 : 0);
    if (!of.empty()) of[0] = 1;
    return {of, true};
  }
  const std::string_view operation = graph_.operation_of(node), type = last_part(operation);
  const auto value = [&](std::size_t i) { return number(operands[i].bits, type); };
  const auto bare = [&](std::size_t i) { return ValueGraph::is_bare(operands[i].node); };
  const auto begins = [&](std::string_view name) { return operation.starts_with(name); };
  if (does(operation, input_.op)) return {std::vector<double>(count, 1), true};
  if (begins("cvt.") && count == 1) return {{1}, value(0) == number(node.bits, result_type(operation))};
  if (input_.op != Operator::add) return {};
  if (begins("sub.") && count == 2) return {{1, -1}, true};
  if (begins("neg.") && count == 1) return {{-1}, true};
  if (begins("mul.") && count == 2 && bare(0) != bare(1))
    return bare(0) ? Factors{{0, value(0)}, true} : Factors{{value(1), 0}, true};
  if ((begins("fma.") || begins("mad.")) && count == 3 && (bare(0) || bare(1))) {
    if (bare(0) && bare(1)) return {};
    return bare(0) ? Factors{{0, value(0), 1}, true} : Factors{{value(1), 0, 1}, true};
  }
  if (begins("shl.") && count == 2 && bare(1))
    return {{std::ldexp(1.0, static_cast<int>(std::min<std::uint64_t>(operands[1].bits, 64))), 0}, true};
  return {};
}

// From the result back: what a node counts, its operands count with its factors.
void Explanation::count_from(const std::vector<NodeId>& roots) {
  std::ranges::fill(counts_, 0);
  times_.assign(given_.n, 0);
  terms_.clear();
  for (const NodeId root : roots) {
    counts_[root] += 1;
    if (ValueGraph::is_bare(root)) terms_.push_back({root, root, 0, 1});
  }
  for (NodeId id = graph_.end(); id-- > first_node;) {
    const double times = counts_[id];
    if (times == 0) continue;
    const ValueGraph::Node& node = graph_.node(id);
    const auto add_term = [&](NodeId origin, double value, double counted) {
      if (value != identity(input_.type, input_.op)) terms_.push_back({id, origin, value, counted});
    };
    const auto as_term = [&](NodeId origin) {
      const std::string_view type =
          node.kind == NodeKind::computed ? last_part(graph_.operation_of(node)) : std::string_view();
      const double value =
          node.kind == NodeKind::computed ? number(node.bits, type) : load_value(input_.type, &node.bits);
      add_term(origin, value, times);
    };
    if (node.kind == NodeKind::loaded || node.kind == NodeKind::host) {
      if (const std::size_t element = element_of(node); element != none)
        times_[element] += times;
      else
        as_term(id);
      continue;
    }
    const Factors factor = factors(node);
    if (!factor.known) {
      as_term(id);
      continue;
    }
    const auto operands = graph_.operands_of(node);
    const std::string_view type =
        node.kind == NodeKind::computed ? last_part(graph_.operation_of(node)) : std::string_view();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const double counted = times * factor.of[i];
      if (counted == 0) continue;
      counts_[operands[i].node] += counted;
      if (!ValueGraph::is_bare(operands[i].node)) continue;
      const double value = node.kind == NodeKind::computed ? number(operands[i].bits, type)
                                                           : load_value(input_.type, &operands[i].bits);
      add_term(operands[i].node, value, counted);
    }
  }
}

// What was counted makes the result that was got, to the bit. What was loaded from elsewhere came there in a
// way that is not followed.
bool Explanation::explains() const {
  if (std::ranges::any_of(terms_, [&](const Term& term) {
        return !ValueGraph::is_bare(term.node) && graph_.node(term.node).kind == NodeKind::loaded &&
               !is_result(graph_.node(term.node).address);
      }))
    return false;
  if (is_selection()) {
    double best = identity(input_.type, input_.op);
    for (std::size_t i = 0; i < given_.n; ++i)
      if (times_[i] != 0) best = apply(input_.op, best, input_[i]);
    for (const Term& term : terms_) best = apply(input_.op, best, term.value);
    return best == got_;
  }
  const bool is_product = input_.op == Operator::product;
  double total = is_product ? 1 : 0, magnitude = 0, operations = 0;
  const auto take = [&](double value, double times) {
    total = is_product ? total * std::pow(value, times) : total + value * times;
    magnitude += std::abs(value * times), operations += std::abs(times);
  };
  for (std::size_t i = 0; i < given_.n; ++i)
    if (times_[i] != 0) take(input_[i], times_[i]);
  for (const Term& term : terms_) take(term.value, term.times);
  if (total == got_) return true;
  const bool wraps = input_.type == Type::int32 || input_.type == Type::uint32;
  if (wraps) return !is_product && std::remainder(total - got_, 0x1p32) == 0;
  // Elements that count so often that a float must round on the way: each addition may then be off by one
  // unit, and most of these errors cancel out.
  constexpr double exact_up_to = 0x1p24, most_rounding = 0x1p-10;
  const bool rounds = given_.kind == Kind::rounding || magnitude > exact_up_to;
  return input_.type == Type::float32 && rounds && !is_product &&
         std::abs(total - got_) <= magnitude * std::min(operations * 0x1p-24, most_rounding);
}

// A result that the host put there was made of what it had copied to it: of all that, or of the last copy.
bool Explanation::count() {
  const NodeId root = graph_.roots[row_];
  if (ValueGraph::is_bare(root) || graph_.node(root).kind != NodeKind::host) {
    count_from({root});
    return explains();
  }
  std::vector<NodeId> all;
  for (auto copy = graph_.host_copies.rbegin(); copy != graph_.host_copies.rend(); ++copy) {
    for (const ValueGraph::Operand& value : copy->values) all.push_back(value.node);
    count_from(all);
    if (explains()) return true;
  }
  return false;
}

void Explanation::find_users() {
  users_.resize(graph_.end());
  for (NodeId id = first_node; id < graph_.end(); ++id) {
    const ValueGraph::Node& node = graph_.node(id);
    if (const std::size_t element = element_of(node); element != none) by_element_[element].push_back(id);
    if (node.operands == 0) continue;
    const Factors factor = factors(node);
    const auto operands = graph_.operands_of(node);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!ValueGraph::is_bare(operands[i].node) && (!factor.known || factor.of[i] != 0))
        users_[operands[i].node].push_back(id);
  }
}

// ---- words

std::string Explanation::thread(const Where& at) const {
  const ValueGraph::Launch& launch = graph_.launches[at.launch];
  std::string text = fmt::format("thread {}", at.thread);
  if (launch.blocks > 1) text += fmt::format(" of block {}", at.block);
  if (given_.devices > 1) text += fmt::format(" on device {}", launch.device);
  return text;
}

// "threads 0 to 31 of block 0", "thread 0 of blocks 0 to 3", or the first few.
std::string Explanation::threads(std::vector<Where> all) const {
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
  std::string text;
  constexpr std::size_t most = 3;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == all.size() ? " and " : ", ", thread(all[i]));
  return all.size() > most ? fmt::format("{} and {} more", text, all.size() - most) : text;
}

// How often each element counts in a node.
std::map<std::size_t, double> Explanation::elements_in(NodeId node) const {
  std::map<NodeId, double, std::greater<>> open{{node, 1}}; // operands have lower numbers
  std::map<std::size_t, double> elements;
  while (!open.empty()) {
    const auto [id, times] = *open.begin();
    open.erase(open.begin());
    if (ValueGraph::is_bare(id) || times == 0) continue;
    const ValueGraph::Node& each = graph_.node(id);
    if (const std::size_t element = element_of(each); element != none) elements[element] += times;
    if (each.operands == 0) continue;
    const Factors factor = factors(each);
    const auto operands = graph_.operands_of(each);
    for (std::size_t i = 0; i < operands.size(); ++i)
      open[operands[i].node] += times * (factor.known ? factor.of[i] : 1);
  }
  return elements;
}

// "element 5", "the sum of elements 0 to 31", "2 times element 5".
std::string Explanation::value_of(NodeId id) const {
  if (graph_.node(id).kind == NodeKind::host) return "a value from the host";
  const std::map<std::size_t, double> counted = elements_in(id);
  Indices elements;
  for (const auto& [element, times] : counted)
    if (times != 0) elements.push_back(element);
  if (elements.empty()) return "a value of no element";
  const double often = counted.at(elements.front());
  const bool all_alike = std::ranges::all_of(elements, [&](std::size_t i) { return counted.at(i) == often; });
  const std::string which = in_words(elements, given_.n, given_.block);
  constexpr std::string_view names[] = {"the sum of ", "the minimum of ", "the maximum of ",
                                        "the product of ", "the bitwise and of "};
  const std::string_view several = elements.size() == 1 ? "" : names[static_cast<int>(input_.op)];
  if (is_selection() || (all_alike && often == 1)) return fmt::format("{}{}", several, which);
  if (all_alike) return fmt::format("{:g} times {}{}", often, several, which);
  return fmt::format("a sum in which {} count several times", which);
}

// ---- what happened to elements

// Which elements each thread reads, if one formula holds for all. Said once.
std::string Explanation::reads() {
  if (std::exchange(reads_are_told_, true) || given_.devices > 1) return "";
  using Thread = std::pair<std::uint32_t, std::uint32_t>; // block, thread
  std::map<unsigned, std::map<Thread, Indices>> by_line;  // a loop may have been unrolled
  for (NodeId id = first_node; id < graph_.end(); ++id) {
    const ValueGraph::Node& node = graph_.node(id);
    if (const std::size_t element = element_of(node); element != none && node.where.launch == 0)
      by_line[graph_.line(node.where)][{node.where.block, node.where.thread}].push_back(element);
  }
  const auto first_line = std::ranges::min_element(
      by_line, {}, [&](const auto& each) { return each.second.begin()->second.front(); });
  if (first_line == by_line.end()) return "";
  auto& [line, threads] = *first_line;
  const auto at = [&threads = threads](std::uint32_t block, std::uint32_t thread) -> std::optional<double> {
    const auto found = threads.find({block, thread});
    if (found == threads.end()) return std::nullopt;
    return static_cast<double>(std::ranges::min(found->second));
  };
  const std::optional<double> origin = at(0, 0);
  if (!origin || threads.size() < 2) return "";
  const double per_thread = at(0, 1).value_or(*origin) - *origin,
               per_block = at(1, 0).value_or(*origin) - *origin;
  double step = 0;
  std::size_t most = 0; // that one thread reads
  for (auto& [thread, elements] : threads) {
    std::ranges::sort(elements);
    most = std::max(most, elements.size());
    const auto first = static_cast<double>(elements.front());
    if (first != *origin + per_block * thread.first + per_thread * thread.second) return "";
    for (std::size_t i = 1; i < elements.size(); ++i) {
      const double here = static_cast<double>(elements[i]) - static_cast<double>(elements[i - 1]);
      if (step == 0) step = here;
      if (here != step) return "";
    }
  }
  std::string index, key;
  const auto add = [&](double factor, const char* name, const char* what) {
    if (factor == 0) return;
    if (!index.empty()) index += " + ";
    index += factor == 1 ? name : fmt::format("{:g} {}", factor, name);
    key += fmt::format("{}{} is {}", key.empty() ? "" : ", ", name, what);
  };
  const ValueGraph::Launch& launch = graph_.launches[0];
  if (!launch.one_dimension) return "";
  add(per_block, "b", "blockIdx.x"), add(per_thread, "t", "threadIdx.x");
  if (*origin != 0 || index.empty()) index += fmt::format("{}{:g}", index.empty() ? "" : " + ", *origin);
  if (step != 0)
    index += step == 1   ? fmt::format(" and the {} after it", most - 1)
             : most == 2 ? fmt::format(" and, if there is one, {:g} elements further", step)
                         : fmt::format(", then every {:g} elements further", step);
  const bool all_read = threads.size() == launch.blocks * launch.threads;
  return fmt::format(" In line {}, thread t{} reads{} element {} ({}{}blockDim.x is {}, gridDim.x is {}).",
                     line, launch.blocks > 1 ? " of block b" : "", all_read ? "" : ", if anything,", index,
                     key, key.empty() ? "" : ", ", launch.threads, launch.blocks);
}

std::string Explanation::unread(const Indices& elements, std::size_t missing) {
  const std::string which = elements.size() == columns_ ? "any element"
                            : elements.size() == missing
                                ? missing == 1 ? "that one" : "those that do not count"
                                : in_words(elements, given_.n, given_.block);
  return fmt::format(" No thread reads {}{}.{}", which,
                     elements.size() == columns_
                         ? ": the compiler leaves out reads whose values do not reach anything that is stored"
                         : "",
                     reads());
}

// Each to the last value that it went into, and what became of that.
std::string Explanation::lost(const Indices& elements, std::size_t missing) {
  std::vector<NodeId> last(graph_.end());
  for (NodeId id = graph_.end(); id-- > first_node;) {
    last[id] = id;
    for (const NodeId user : users_[id]) last[id] = std::max(last[id], last[user]);
  }
  std::multimap<NodeId, const ValueGraph::Loss*> losses;
  for (const ValueGraph::Loss& loss : graph_.losses) losses.emplace(loss.node, &loss);
  struct Story {
    Indices elements;
    NodeId node = 0;
    const ValueGraph::Loss* loss = nullptr;
  };
  std::map<std::tuple<bool, bool, std::uint32_t, std::uint32_t>, Story> stories;
  for (const std::size_t element : elements) {
    NodeId end = 0;
    for (const NodeId load : by_element_[element]) end = std::max(end, last[load]);
    const auto [begin, stop] = losses.equal_range(end);
    const ValueGraph::Loss* loss = nullptr;
    for (auto each = begin; each != stop; ++each)
      if (!loss || (each->second->overwritten && !loss->overwritten)) loss = each->second;
    Story& story =
        stories[{loss != nullptr, loss && loss->overwritten,
                 loss ? loss->stored.place : graph_.node(end).where.place, loss ? loss->by.place : 0}];
    if (story.elements.empty()) story.node = end, story.loss = loss;
    story.elements.push_back(element);
  }
  const auto& story = std::ranges::max_element(stories, {}, [](const auto& each) {
                        return each.second.elements.size();
                      })->second;
  const std::string value = value_of(story.node);
  const Where& made = graph_.node(story.node).where;
  if (graph_.line(made) == 0) return ""; // the host has copied it
  const std::string which = story.elements.size() == missing
                                ? ""
                                : fmt::format("{}: ", in_words(story.elements, given_.n, given_.block));
  const bool is_loaded = graph_.node(story.node).kind == NodeKind::loaded;
  if (!story.loss) {
    kind_ = "not-used";
    return sentence("{}in line {}, {} {} {}, and nothing is made of it. Where should it go?", which,
                    graph_.line(made), thread(made), is_loaded ? "reads" : "has", value);
  }
  const ValueGraph::Loss& loss = *story.loss;
  const std::string stored = fmt::format("{}in line {}, {} stores {} in {}", which, graph_.line(loss.stored),
                                         thread(loss.stored), value, loss.place);
  if (!loss.overwritten) {
    kind_ = "never-read";
    return sentence("{}, and nothing reads it from there. Which thread should, in which step?", stored);
  }
  kind_ = "overwritten";
  if (graph_.line(loss.by) == 0) return sentence("{}. The host overwrites it.", stored);
  return sentence("{}. {} overwrites it in line {} before anything has read it.", stored,
                  capital(thread(loss.by)), graph_.line(loss.by));
}

// Where one became several: the loads, or the uses of one value.
std::string Explanation::counted_often(const Indices& elements) {
  const std::size_t element = elements.front();
  std::vector<NodeId> loads;
  for (const NodeId load : by_element_[element])
    if (counts_[load] != 0) loads.push_back(load);
  const auto lines_of = [&](const std::vector<NodeId>& nodes) {
    std::set<unsigned> lines;
    for (const NodeId id : nodes) lines.insert(graph_.line(graph_.node(id).where));
    std::string text;
    for (const unsigned line : lines) text += fmt::format("{}{}", text.empty() ? "" : " and ", line);
    return fmt::format("line{} {}", lines.size() == 1 ? "" : "s", text);
  };
  const auto threads_of = [&](const std::vector<NodeId>& nodes) {
    std::vector<Where> all;
    for (const NodeId id : nodes) all.push_back(graph_.node(id).where);
    return threads(std::move(all));
  };
  const auto by_host = [&](NodeId load) { return graph_.line(graph_.node(load).where) == 0; };
  if (std::ranges::any_of(loads, by_host)) return "";
  if (loads.size() > 1) {
    kind_ = "read-again";
    return sentence("in {}, element {} is read {} times, by {}.{}", lines_of(loads), element, loads.size(),
                    threads_of(loads), reads());
  }
  kind_ = "added-again";
  for (NodeId id = loads.front();;) {
    std::vector<NodeId> uses;
    for (const NodeId user : users_[id])
      if (counts_[user] != 0) uses.push_back(user);
    if (uses.size() == 1 && counts_[uses[0]] == counts_[id]) {
      id = uses[0];
      continue;
    }
    const std::string value = value_of(id);
    if (uses.empty()) return sentence("{} is copied to the host {:g} times.", value, counts_[id]);
    const ValueGraph::Node& user = graph_.node(uses[0]);
    if (uses.size() == 2 && uses[0] == uses[1])
      return sentence("in {}, {} adds {} to itself.", lines_of(uses), thread(user.where), value);
    if (counts_[id] < 0) kind_ = "subtracted";
    if (uses.size() == 1)
      return sentence("in {}, {} makes {:g} times {} ({}).", lines_of(uses), thread(user.where),
                      counts_[id] / counts_[uses[0]], value, graph_.operation_of(user));
    const std::string by = threads_of(uses);
    return sentence("in {}, {} is added {} times, by {}.{}", lines_of(uses), value, uses.size(), by,
                    by.find(" and ") != by.npos || by.find(" to ") != by.npos ? " Which thread should add it?"
                                                                              : "");
  }
}

std::string Explanation::explain_elements() {
  std::map<double, Indices> by_times;
  for (std::size_t i = first_; i < first_ + columns_; ++i) by_times[times_[i]].push_back(i);
  if (by_times.size() == 1 && by_times.begin()->first == 1) return "";
  if (is_selection()) { // one that loses a comparison does not reach the result, and should not
    Indices never;
    for (std::size_t i = first_; i < first_ + columns_; ++i)
      if (by_element_[i].empty()) never.push_back(i);
    if (never.empty()) return "";
    kind_ = "not-read";
    return unread(never, 0);
  }
  const bool no_element = by_times.size() == 1 && by_times.begin()->first == 0;
  std::string text =
      no_element ? "None of the elements counts in the result." : how_often(by_times, given_.n, given_.block);
  if (const auto missing = by_times.find(0); missing != by_times.end()) {
    Indices never, gone;
    for (const std::size_t i : missing->second) (by_element_[i].empty() ? never : gone).push_back(i);
    if (!never.empty()) kind_ = "not-read", text += unread(never, missing->second.size());
    if (!gone.empty()) text += lost(gone, missing->second.size());
    if (!never.empty()) kind_ = never.size() == columns_ ? "nothing-read" : "not-read";
  }
  for (const auto& [times, elements] : by_times) {
    if (times == 0 || times == 1) continue;
    const std::string before = kind_;
    text += counted_often(elements);
    if (!before.empty()) kind_ = before;
    break;
  }
  return text;
}

// The first step that is none of the operator's, such as a product in a sum.
std::string Explanation::explain_operation() {
  const Term* first = nullptr;
  for (const Term& term : terms_)
    if (!ValueGraph::is_bare(term.node) && term.origin == term.node && (!first || term.node < first->node) &&
        graph_.node(term.node).kind == NodeKind::computed)
      first = &term;
  if (!first) return "";
  kind_ = "operation";
  const ValueGraph::Node& node = graph_.node(first->node);
  const std::string_view operation = graph_.operation_of(node), of = last_part(operation);
  std::string values;
  for (const ValueGraph::Operand& operand : graph_.operands_of(node))
    values += fmt::format("{}{:.10g}", values.empty() ? "" : " and ", number(operand.bits, of));
  return sentence("in line {}, {} makes {:.10g} of {} ({}).", graph_.line(node.where), thread(node.where),
                  number(node.bits, result_type(operation)), values, operation);
}

// What was added that is no element of the row.
std::string Explanation::explain_terms() {
  for (std::size_t i = 0; i < given_.n; ++i) {
    if (times_[i] == 0 || (i >= first_ && i < first_ + columns_)) continue;
    kind_ = "other-row";
    return fmt::format(" Element {} of row {} counts in it too: {}.", i % columns_, i / columns_,
                       value_of(by_element_[i].front()));
  }
  if (terms_.empty() || nothing_stored_) return "";
  // The first in time.
  const Term& term = *std::ranges::min_element(terms_, {}, &Term::node);
  if (ValueGraph::is_bare(term.node)) return ""; // explain_elements() has said that none counts
  const ValueGraph::Node& node = graph_.node(term.node);
  kind_ = "foreign";
  if (term.origin == term.node) {
    if (node.kind == NodeKind::host) return "";
    if (node.kind == NodeKind::loaded) {
      kind_ = "old-result";
      return fmt::format(" The value {:.10g} that stood in the result before the launch counts too.",
                         term.value);
    }
    return ""; // explain_operation() has said it
  }
  const char* const origin = term.origin == of_thread_numbers ? "it is made of a thread's own number"
                             : term.origin == of_arguments ? "it comes from the launch's arguments or sizes"
                                                           : "it is a constant of the program";
  const bool is_smallest_positive =
      (input_.type == Type::float32 && term.value == std::numeric_limits<float>::min()) ||
      (input_.type == Type::float64 && term.value == std::numeric_limits<double>::min());
  const std::string must =
      is_smallest_positive
          ? fmt::format(" That is numeric_limits<{}>::min(), the smallest normal number above 0; the one "
                        "furthest below 0 is lowest().",
                        name_of(input_.type))
      : input_.op == Operator::add
          ? ""
          : fmt::format(" What takes part beside the elements must be the identity, {:.10g}.",
                        identity(input_.type, input_.op));
  return sentence("in line {}, {} takes {:.10g} as a value: {}.{}", graph_.line(node.where),
                  thread(node.where), term.value, origin, must);
}

// For a result that the host computed: what it was given is right, so it is the host's.
Diagnosis Explanation::of_the_host() {
  const NodeId root = graph_.roots[row_];
  if (ValueGraph::is_bare(root) || graph_.node(root).kind != NodeKind::host || graph_.host_copies.empty())
    return {};
  const std::vector<ValueGraph::Operand>& values = graph_.host_copies.back().values;
  std::vector<NodeId> all;
  for (const ValueGraph::Operand& value : values) all.push_back(value.node);
  count_from(all);
  const bool is_right =
      terms_.empty() && std::ranges::all_of(times_, [](double times) { return times == 1; });
  if (!is_right || values.size() < 2) return {};
  const auto value_at = [&](std::size_t i) { return load_value(input_.type, &values[i].bits); };
  const double expected = reduce(input_, first_, first_ + columns_).value;
  std::string what;
  for (std::size_t i = 0; i < values.size() && what.empty(); ++i) {
    if (value_at(i) == got_) what = fmt::format(" That is the value with the index {} alone.", i);
    if (input_.op == Operator::add && expected - value_at(i) == got_)
      what = fmt::format(" That is all of them but the one with the index {}.", i);
  }
  return {
      "host-adds",
      fmt::format("The {} values that are copied to the host are right: together they make {:.10g}. The host "
                  "makes {:.10g} of them.{}",
                  values.size(), expected, got_, what),
      true};
}

Diagnosis Explanation::diagnosis() {
  if (!graph_.complete || row_ >= graph_.roots.size()) return {};
  if (!count()) return given_.devices == 1 ? of_the_host() : Diagnosis{}; // there, it may have been NCCL
  find_users();
  const NodeId root = graph_.roots[row_];
  nothing_stored_ = !ValueGraph::is_bare(root) && graph_.node(root).kind == NodeKind::loaded &&
                    is_result(graph_.node(root).address) &&
                    std::ranges::none_of(graph_.losses, [&](const ValueGraph::Loss& loss) {
                      return loss.overwritten && graph_.line(loss.by) == 0; // by the host
                    });
  std::string text = explain_operation();
  if (text.empty()) {
    text = explain_elements();
    const std::string kind = kind_;
    text += explain_terms();
    if (!kind.empty()) kind_ = kind;
  }
  if (nothing_stored_) {
    kind_ = "never-written";
    text = graph_.launches.size() == 1 ? "No kernel is launched, and the result stays what it was before."
                                       : "What stood in the result before is still there. " + text;
  }
  if (text.empty()) return {};
  if (text.starts_with(' ')) text.erase(0, 1);
  return {kind_, text, true};
}

} // namespace

Diagnosis from_values(const Outcome& outcome, const Case& given, const Sequence& input, std::size_t row) {
  if (outcome.followed.graph.empty() || outcome.results.size() <= row || given.n == 0) return {};
  const ValueGraph graph = value_graph_from(outcome.followed.graph);
  return Explanation(graph, outcome, given, input, row).diagnosis();
}

} // namespace lab
