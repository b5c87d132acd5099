#include "explain/where_values_went.hpp"

#include "explain/element_counts.hpp"
#include "explain/element_words.hpp"
#include "explain/index_names.hpp"
#include "explain/value_graph.hpp"
#include "explain/value_words.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace lab {
namespace {

using NodeKind = ValueGraph::Node::Kind;
using NodeId = ElementCounts::NodeId;
using Where = ValueGraph::Where;

// One that follows others.
template <class... Values>
std::string sentence(fmt::format_string<Values...> form, Values&&... values) {
  return " " + capital(fmt::format(form, std::forward<Values>(values)...));
}

// "f32" as the type that a student would write, "a float".
std::string type_in_words(std::string_view ptx) {
  constexpr std::pair<std::string_view, std::string_view> types[] = {
      {"f16", "a half"},          {"bf16", "a bfloat16"},       {"f32", "a float"},
      {"f64", "a double"},        {"s8", "a signed char"},      {"u8", "an unsigned char"},
      {"s16", "a short"},         {"u16", "an unsigned short"}, {"s32", "an int"},
      {"u32", "an unsigned int"}, {"s64", "a 64-bit int"},      {"u64", "an unsigned 64-bit int"}};
  const auto found = std::ranges::find(types, ptx, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(types) ? fmt::format("the type {}", ptx) : std::string(found->second);
}

bool is_same_thread(const Where& one, const Where& other) {
  return one.launch == other.launch && one.block == other.block && one.thread == other.thread;
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

class Explanation {
public:
  Explanation(const ValueGraph& graph, const Outcome& outcome, const Case& given, const Sequence& input,
              std::size_t row)
      : graph_(graph), given_(given), input_(input), got_(outcome.results[row]), row_(row),
        columns_(given.n / given.rows), first_(row * columns_), in_opencl_(outcome.followed.in_opencl),
        in_place_(outcome.followed.in_place), counts_(graph, outcome, given, input, row),
        words_(graph, counts_, given, input) {}

  Diagnosis diagnosis();
  std::string first_not_finite() const;
  std::string unreached() const;
  std::string unwritten_result_read() const;
  Diagnosis of_lost_bits() const;

private:
  Diagnosis of_the_host();
  Diagnosis of_library_type() const;
  Diagnosis of_rounding_to_float() const;
  bool cuts_off_constant(const ValueGraph::Node& conversion, unsigned kept) const;
  // `as_chosen`: without what a select passed over.
  std::vector<bool> on_the_way(bool as_chosen = false) const;
  std::vector<NodeId> computed_on_the_way() const;
  std::string numbers_given_to(const ValueGraph::Node& node) const;
  bool makes_the_same(const ValueGraph::Node& node) const;
  NodeId most_telling(NodeId step) const;
  std::string explain_operation();
  std::string explain_elements();
  std::string explain_best_element();
  std::string explain_terms();
  bool launches_nothing() const { return graph_.launches.size() == 1; } // the last is the host's
  std::string untouched() const;
  std::string unread(const Indices& elements, std::size_t missing);
  std::optional<unsigned> load_never_reached() const;
  std::string reads();
  std::string lost(const Indices& elements, std::size_t missing);
  std::string counted_often(const Indices& elements);
  std::vector<NodeId> ends_of_ways();
  NodeId handed_on(NodeId id) const;
  NodeId used_twin(NodeId id) const;
  NodeId first_join(NodeId load) const;
  std::vector<NodeId> of_a_whole_warp(const std::vector<NodeId>& users) const;
  bool is_old_result(NodeId root) const;

  const ValueGraph& graph_;
  const Case& given_;
  const Sequence& input_;
  const double got_;
  const std::size_t row_, columns_, first_;
  const bool in_opencl_, in_place_;
  ElementCounts counts_;
  const ValueWords words_;
  std::string kind_;
  bool reads_are_told_ = false, nothing_stored_ = false;
};

// Which elements each thread reads, if one formula holds for all. Said once.
std::string Explanation::reads() {
  if (std::exchange(reads_are_told_, true) || given_.devices > 1) return "";
  using Thread = std::pair<std::uint32_t, std::uint32_t>; // block, thread
  std::map<unsigned, std::map<Thread, Indices>> by_line;  // a loop may have been unrolled
  for (NodeId id = first_node; id < graph_.end(); ++id) {
    const ValueGraph::Node& node = graph_.node(id);
    if (const auto element = counts_.element_of(node); element && node.where.launch == 0)
      by_line[graph_.line(node.where)][{node.where.block, node.where.thread}].push_back(*element);
  }
  std::size_t all = 0;
  for (const auto& [line, threads] : by_line) all += threads.size();
  const auto first_line = std::ranges::min_element(
      by_line, {}, [&](const auto& each) { return each.second.begin()->second.front(); });
  if (first_line == by_line.end()) return "";
  auto& [line, threads] = *first_line;
  if (2 * threads.size() < all) return ""; // most threads read elsewhere
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
  std::size_t most = 0, least = columns_; // that one thread reads
  for (auto& [thread, elements] : threads) {
    std::ranges::sort(elements);
    most = std::max(most, elements.size()), least = std::min(least, elements.size());
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
  const IndexNames names = index_names(in_opencl_);
  add(per_block, "b", names.block), add(per_thread, "t", names.thread);
  if (*origin != 0 || index.empty()) index += fmt::format("{}{:g}", index.empty() ? "" : " + ", *origin);
  if (step != 0)
    index += step == 1   ? fmt::format(" and {} {} after it", most == least ? "the" : "up to", most - 1)
             : most == 2 ? fmt::format(" and, if it reads two, {:g} elements further", step)
                         : fmt::format(", then every {:g} elements further", step);
  const bool all_read = threads.size() == launch.blocks * launch.threads;
  const std::uint32_t block = threads.begin()->first.first;
  const bool in_one_block = threads.rbegin()->first.first == block;
  const std::string of_block = launch.blocks == 1 ? ""
                               : in_one_block     ? fmt::format(" of block {} alone", block)
                                                  : " of block b";
  return fmt::format(" In line {}, thread t{} reads{} element {}{} ({}{}{} is {}, {} is {}).", line, of_block,
                     all_read ? "" : ", if anything,", index, in_place_ ? ", still unchanged" : "", key,
                     key.empty() ? "" : ", ", names.block_size, launch.threads, names.grid_size,
                     launch.blocks);
}

// The line of a load in a kernel that ran and that no thread executed.
std::optional<unsigned> Explanation::load_never_reached() const {
  for (const ValueGraph::Launch& launch : graph_.launches)
    for (const unsigned line : launch.lines_of_loads)
      if (line != 0 && std::ranges::none_of(graph_.places, [&](const ValueGraph::Place& place) {
            return place.line == line && place.operation.starts_with("ld");
          }))
        return line;
  return std::nullopt;
}

std::string Explanation::unread(const Indices& elements, std::size_t missing) {
  const std::string which = elements.size() == columns_ ? given_.rows == 1 ? "any element" : "any of this row"
                            : elements.size() == missing
                                ? missing == 1 ? "that one" : "those that do not count"
                                : in_words(elements, given_.n, given_.block);
  // Where the first are missing, they may have been replaced by the later ones.
  const bool may_be_left_out =
      elements.size() + 1 >= given_.n || (elements.front() == first_ && given_.rows == 1);
  const std::optional<unsigned> never_reached = may_be_left_out ? load_never_reached() : std::nullopt;
  if (never_reached)
    return fmt::format(" No thread reads {}: none gets to the read in line {}.{}", which, *never_reached,
                       reads());
  return fmt::format(
      " No thread reads {}{}.{}", which,
      may_be_left_out
          ? "; the compiler leaves out a read whose value is not used, such as one that the "
            "next replaces (= in place of +=), that goes to a parameter which is not used, or that a "
            "comparison never chooses"
          : "",
      reads());
}

// Of all the values that each went into and that go into nothing themselves, the one that should have gone
// on.
std::vector<NodeId> Explanation::ends_of_ways() {
  struct End {
    bool fits = false;        // had it gone on, each of its elements would count once
    bool overwritten = false; // other than what is left over at the end, as in a tree that is right
    std::size_t elements = 0;
    bool stored = false;    // for others to read
    std::int64_t first = 0; // of several threads that have it, the first may have been meant to go on
    NodeId node = 0;
    auto operator<=>(const End&) const = default;
  };
  std::vector<bool> stored(graph_.end()), overwritten(graph_.end());
  for (const ValueGraph::Loss& loss : graph_.losses) {
    stored[loss.node] = true;
    if (loss.overwritten) overwritten[loss.node] = true;
  }
  std::vector<End> ends(graph_.end());
  const auto end_at = [&](NodeId id) {
    if (counts_.is_selection()) return End{.fits = true, .node = id};
    const auto counted = counts_.elements_in(id);
    const auto is_missing = [&](const auto& each) {
      return each.second == 1 && counts_.of_element(each.first) == 0;
    };
    return End{std::ranges::all_of(counted, is_missing),
               overwritten[id],
               counted.size(),
               stored[id],
               -static_cast<std::int64_t>(graph_.node(id).where.thread),
               id};
  };
  std::vector<bool> concerned(graph_.end());
  for (std::size_t i = first_; i < first_ + columns_; ++i)
    if (counts_.of_element(i) == 0)
      for (const NodeId load : counts_.loads_of(i)) concerned[load] = true;
  for (NodeId id = first_node; id < graph_.end(); ++id)
    if (concerned[id])
      for (const NodeId user : counts_.users_of(id)) concerned[user] = true;
  for (NodeId id = graph_.end(); id-- > first_node;) {
    if (!concerned[id]) continue;
    if (counts_.users_of(id).empty()) ends[id] = end_at(id);
    for (const NodeId user : counts_.users_of(id)) ends[id] = std::max(ends[id], ends[user]);
  }
  std::vector<NodeId> nodes(graph_.end());
  for (NodeId id = first_node; id < graph_.end(); ++id) nodes[id] = ends[id].fits ? ends[id].node : 0;
  return nodes;
}

// The value in which a thread hands it on to others, or in which it ends.
NodeId Explanation::handed_on(NodeId id) const {
  for (;;) {
    const std::vector<NodeId>& users = counts_.users_of(id);
    if (users.size() != 1 || !is_same_thread(graph_.node(users[0]).where, graph_.node(id).where)) return id;
    id = users[0];
  }
}

// The same value in the first thread of the warp that has a use for it; otherwise the node itself.
NodeId Explanation::used_twin(NodeId id) const {
  const ValueGraph::Node& node = graph_.node(id);
  if (!counts_.users_of(id).empty()) return id;
  NodeId found = id;
  for (NodeId other = first_node; other < graph_.end(); ++other) {
    const Where& at = graph_.node(other).where;
    if (at.place == node.where.place && at.launch == node.where.launch && at.block == node.where.block &&
        at.thread / 32 == node.where.thread / 32 && at.thread < graph_.node(found).where.thread &&
        graph_.node(other).bits == node.bits && // the elements of each sum of a long row would take long
        !counts_.users_of(other).empty() && counts_.elements_in(other) == counts_.elements_in(id))
      found = other;
  }
  return found;
}

// What became of each: the value in which its way ends, or those who took it without a use.
std::string Explanation::lost(const Indices& elements, std::size_t missing) {
  const std::vector<NodeId> ends = ends_of_ways();
  std::multimap<NodeId, const ValueGraph::Loss*> losses;
  for (const ValueGraph::Loss& loss : graph_.losses) losses.emplace(loss.node, &loss);
  struct Story {
    Indices elements;
    NodeId node = 0; // of the first
    const ValueGraph::Loss* loss = nullptr;
    bool is_one = true; // of all of them
  };
  std::map<std::tuple<bool, bool, std::uint32_t, std::uint32_t>, Story> stories;
  for (const std::size_t element : elements) {
    NodeId end = 0;
    for (const NodeId load : counts_.loads_of(element)) end = std::max(end, ends[load]);
    if (end == 0) end = handed_on(counts_.loads_of(element).front());
    const auto [begin, stop] = losses.equal_range(end);
    const ValueGraph::Loss* loss = nullptr;
    for (auto each = begin; each != stop; ++each)
      if (!loss || (each->second->overwritten && !loss->overwritten)) loss = each->second;
    Story& story =
        stories[{loss != nullptr, loss && loss->overwritten,
                 loss ? loss->stored.place : graph_.node(end).where.place, loss ? loss->by.place : 0}];
    if (story.elements.empty()) story.node = end, story.loss = loss;
    story.is_one = story.is_one && story.node == end;
    story.elements.push_back(element);
  }
  auto& story = std::ranges::max_element(stories, {}, [](const auto& each) {
                  return each.second.elements.size();
                })->second;
  if (!story.loss) story.node = used_twin(story.node);
  const std::string value = words_.value_of(story.node);
  const Where& made = graph_.node(story.node).where;
  if (graph_.line(made) == 0 && graph_.library_call(made).empty()) return ""; // the host has copied it
  const bool is_all = story.elements.size() == missing;
  const std::string group = is_all ? "" : in_words(story.elements, given_.n, given_.block);
  const std::string which =
      story.is_one ? (is_all ? "" : group + ": ")
      : is_all
          ? fmt::format("Element {}, for example: ", story.elements[0])
          : fmt::format("what becomes of {} shows in element {}, for example: ", group, story.elements[0]);
  const bool is_loaded = graph_.node(story.node).kind == NodeKind::loaded;
  const auto result = std::ranges::find(graph_.roots, story.node);
  if (const auto row = static_cast<std::size_t>(result - graph_.roots.begin()); row == row_) {
    return ""; // it is the result, and has no element in it
  } else if (row < graph_.roots.size()) {
    kind_ = "other-row";
    return sentence("{}{} has {}, which becomes the result of row {}.", which, words_.who(made), value, row);
  }
  std::vector<NodeId> users = counts_.users_of(story.node);
  if (std::ranges::any_of(users, [&](NodeId user) { return !is_same_thread(graph_.node(user).where, made); }))
    std::erase_if(users, [&](NodeId user) { return is_same_thread(graph_.node(user).where, made); });
  if (!users.empty()) {
    kind_ = "not-used";
    const std::string has =
        fmt::format("{}{} {} {}", which, words_.who(made), is_loaded ? "reads" : "has", value);
    if (is_same_thread(graph_.node(users[0]).where, made))
      return sentence("{}, and what it makes of that in {} does not get into the result.", has,
                      words_.lines_of(users));
    const bool one = std::ranges::all_of(users, [&](NodeId user) {
      return is_same_thread(graph_.node(user).where, graph_.node(users[0]).where);
    });
    return sentence("{}. {} take{} it from there in {}, and what {} of it does not get into the result.", has,
                    capital(words_.threads_of(users)), one ? "s" : "", words_.lines_of(users),
                    one ? "it makes" : "they make");
  }
  if (!story.loss) {
    kind_ = "not-used";
    if (counts_.is_selection())
      return sentence("{}{} {} {}, and after that it is lost.", which, words_.who(made),
                      is_loaded ? "reads" : "has", value);
    return sentence("{}{} {} {}, and nothing that is used is made of that.", which, words_.who(made),
                    is_loaded ? "reads" : "has", value);
  }
  const ValueGraph::Loss& loss = *story.loss;
  const Where& stored_by = graph_.line(loss.stored) == 0 ? made : loss.stored; // it may be a library's copy
  const std::string stored =
      fmt::format("{}{} stores {} in {}", which, words_.who(stored_by), value, loss.place);
  if (!loss.overwritten) {
    kind_ = "never-read";
    return sentence("{}, and nothing uses it from there.", stored);
  }
  kind_ = "overwritten";
  if (graph_.line(loss.by) == 0) return sentence("{}. The host overwrites it.", stored);
  return sentence("{}. {} overwrites it in line {} before anything has read it.", stored,
                  capital(words_.thread(loss.by)), graph_.line(loss.by));
}

// The first step that combines two values which both have this load in them; 0 if there is none.
NodeId Explanation::first_join(NodeId load) const {
  std::vector<bool> has(graph_.end());
  has[load] = true;
  for (NodeId id = load + 1; id < graph_.end(); ++id) {
    const auto operands = graph_.operands_of(graph_.node(id));
    const auto with = std::ranges::count_if(
        operands, [&](const ValueGraph::Operand& operand) { return has[operand.node]; });
    has[id] = with > 0;
    if (with > 1 && counts_.of_node(id) != 0 && counts_.is_step_of_operator(id)) return id;
  }
  return 0;
}

// Those in which all threads of a warp do the same, if there are such.
std::vector<NodeId> Explanation::of_a_whole_warp(const std::vector<NodeId>& users) const {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>,
           std::map<std::uint32_t, NodeId>>
      by_warp;
  for (const NodeId user : users) {
    const Where& at = graph_.node(user).where;
    by_warp[{at.place, at.launch, at.block, at.thread / 32}].emplace(at.thread, user);
  }
  std::vector<NodeId> found;
  for (const auto& [warp, by_thread] : by_warp)
    if (by_thread.size() == 32 && found.empty())
      for (const auto& [thread, user] : by_thread) found.push_back(user);
  return found;
}

// Where one became several: the loads, or the uses of one value.
std::string Explanation::counted_often(const Indices& elements) {
  const std::size_t element = elements.front();
  std::vector<NodeId> loads;
  for (const NodeId load : counts_.loads_of(element))
    if (counts_.of_node(load) != 0) loads.push_back(load);
  const auto by_host = [&](NodeId load) { return graph_.line(graph_.node(load).where) == 0; };
  if (std::ranges::any_of(loads, by_host)) return "";
  if (loads.size() > 1) {
    kind_ = "read-again";
    return sentence("in {}, element {} is read {} times, by {}.{}", words_.lines_of(loads), element,
                    loads.size(), words_.threads_of(loads), reads());
  }
  kind_ = "added-again";
  for (NodeId id = loads.front();;) {
    std::vector<NodeId> uses;
    for (const NodeId user : counts_.users_of(id))
      if (counts_.of_node(user) != 0) uses.push_back(user);
    if (uses.size() == 1 && counts_.of_node(uses[0]) == counts_.of_node(id)) {
      id = uses[0];
      continue;
    }
    const std::string value = words_.value_of(id);
    if (uses.empty()) return sentence("{} is copied to the host {:g} times.", value, counts_.of_node(id));
    const ValueGraph::Node& user = graph_.node(uses[0]);
    if (uses.size() == 2 && uses[0] == uses[1])
      return sentence("in {}, {} adds {} to itself.", words_.lines_of(uses), words_.thread(user.where),
                      value);
    if (counts_.of_node(id) < 0) kind_ = "subtracted";
    if (uses.size() == 1 && !graph_.library_call(user.where).empty())
      return sentence("{} takes each value {:g} times, among them {}.", words_.who(user.where),
                      counts_.of_node(id) / counts_.of_node(uses[0]), value);
    if (uses.size() == 1)
      return sentence("{} makes {:g} times {}{}.", words_.who(user.where),
                      counts_.of_node(id) / counts_.of_node(uses[0]), value, words_.operation_named(user));
    const bool is_of_all_lanes = graph_.operation_of(graph_.node(id)).starts_with("redux.");
    if (const std::vector<NodeId> warp = of_a_whole_warp(counts_.users_of(id));
        !warp.empty() && !is_of_all_lanes)
      return sentence("in {}, {} all take the same value, {}, which {} has.", words_.lines_of(warp),
                      words_.threads_of(warp), value, words_.thread(graph_.node(id).where));
    if (const NodeId join = first_join(loads.front());
        join != 0 && std::ranges::find(uses, join) == uses.end()) {
      const ValueGraph::Node& node = graph_.node(join);
      std::vector<NodeId> both;
      for (const ValueGraph::Operand& operand : graph_.operands_of(node))
        if (!ValueGraph::is_bare(operand.node) && counts_.elements_in(operand.node).contains(element))
          both.push_back(operand.node);
      if (both.size() == 2) {
        const std::string one = words_.value_of(both[0]), other = words_.value_of(both[1]);
        const Where& latter = graph_.node(both[1]).where;
        const bool is_same = counts_.elements_in(both[0]) == counts_.elements_in(both[1]);
        return sentence("in line {}, {} combines {} and {}{}.{}", graph_.line(node.where),
                        words_.thread(node.where), one, one == other && !is_same ? "another such sum" : other,
                        is_same ? " again" : fmt::format(": element {} is in both", element),
                        is_same_thread(latter, node.where) || graph_.line(latter) == 0
                            ? ""
                            : fmt::format(" The latter is what {} has from line {}.", words_.thread(latter),
                                          graph_.line(latter)));
      }
    }
    const std::string by = words_.threads_of(uses);
    const char* const used = graph_.operation_of(user).starts_with("ld") ? "read"
                             : user.kind == NodeKind::computed           ? "added"
                                                                         : "taken";
    const bool by_several = by.find(" and ") != by.npos || by.find(" to ") != by.npos;
    return sentence("in {}, {} is {} {} times, by {}.{}", words_.lines_of(uses), value, used, uses.size(), by,
                    by_several ? " Which thread should do that?" : "");
  }
}

std::string Explanation::explain_elements() {
  if (columns_ == 0) return "";
  std::map<double, Indices> by_times;
  for (std::size_t i = first_; i < first_ + columns_; ++i) by_times[counts_.of_element(i)].push_back(i);
  if (by_times.size() == 1 && by_times.begin()->first == 1) return "";
  if (counts_.is_selection()) return explain_best_element();
  const bool no_element = by_times.size() == 1 && by_times.begin()->first == 0;
  std::string text = nothing_stored_ ? ""
                     : no_element    ? "None of the elements counts in the result."
                                     : how_often(by_times, given_.n, given_.block);
  if (const auto missing = by_times.find(0); missing != by_times.end()) {
    Indices never, gone;
    for (const std::size_t i : missing->second) (counts_.loads_of(i).empty() ? never : gone).push_back(i);
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

// One that loses a comparison does not reach the result, and should not.
std::string Explanation::explain_best_element() {
  Indices never;
  for (std::size_t i = first_; i < first_ + columns_; ++i)
    if (counts_.loads_of(i).empty()) never.push_back(i);
  if (!never.empty()) {
    kind_ = "not-read";
    return unread(never, 0);
  }
  if (input_.op == Operator::bitwise_and) return ""; // to which each may add its part
  const double expected = reduce(input_, first_, first_ + columns_).value;
  std::optional<std::size_t> best;
  for (std::size_t i = first_; i < first_ + columns_; ++i) {
    if (input_[i] != expected) continue;
    if (counts_.of_element(i) != 0) return "";
    if (!best) best = i;
  }
  if (!best) return "";
  std::string text =
      fmt::format("The {} is element {}.", input_.op == Operator::min ? "minimum" : "maximum", *best);
  if (const auto choice = counts_.last_wrong_choice(*best)) {
    kind_ = "passed-over";
    const ValueGraph::Node& node = graph_.node(choice->node);
    const std::string_view operation =
        node.kind == NodeKind::computed ? graph_.operation_of(node) : std::string_view();
    return text + sentence("in line {}, {} has {:.10g} and {:.10g}, and keeps the latter, which is {}{}.",
                           graph_.line(node.where), words_.thread(node.where), choice->passed_over,
                           choice->kept, choice->kept > choice->passed_over ? "greater" : "smaller",
                           operation.empty() ? "" : fmt::format(" ({})", operation));
  }
  return text + lost({*best}, 1);
}

// Of the 32 lanes of a reduction, the first few.
std::string Explanation::numbers_given_to(const ValueGraph::Node& node) const {
  constexpr std::size_t most = 4;
  const auto operands = graph_.operands_of(node);
  std::vector<std::string> numbers;
  for (const ValueGraph::Operand& operand : operands.first(std::min(operands.size(), most)))
    numbers.push_back(fmt::format("{:.10g}", number(operand.bits, operand_type(graph_.operation_of(node)))));
  if (operands.size() > most) numbers.push_back(fmt::format("{} more", operands.size() - most));
  return listed(numbers);
}

// Whether the operator would make the same of the operands, as a sum and a product do of 2 and 2.
bool Explanation::makes_the_same(const ValueGraph::Node& node) const {
  const std::string_view operation = graph_.operation_of(node);
  double made = identity(input_.type, input_.op);
  for (const ValueGraph::Operand& operand : graph_.operands_of(node))
    made = apply(input_.op, made, number(operand.bits, operand_type(operation)));
  return number(node.bits, result_type(operation)) == made;
}

// The same operation where it can be seen that it is another one.
ElementCounts::NodeId Explanation::most_telling(NodeId step) const {
  if (!makes_the_same(graph_.node(step))) return step;
  for (const NodeId id : computed_on_the_way()) {
    const ValueGraph::Node& node = graph_.node(id);
    if (id < step && !makes_the_same(node) &&
        graph_.operation_of(node) == graph_.operation_of(graph_.node(step)))
      return id;
  }
  return step;
}

// The first step that is none of the operator's, such as a product in a sum.
std::string Explanation::explain_operation() {
  const ElementCounts::Term* first = nullptr;
  for (const ElementCounts::Term& term : counts_.terms())
    if (!ValueGraph::is_bare(term.node) && term.origin == term.node && (!first || term.node < first->node) &&
        graph_.node(term.node).kind == NodeKind::computed)
      first = &term;
  if (!first) return "";
  kind_ = "operation";
  const ValueGraph::Node& node = graph_.node(most_telling(first->node));
  const std::string_view operation = graph_.operation_of(node), of = operand_type(operation),
                         to = result_type(operation);
  const std::string who = words_.who(node.where);
  const std::string values = numbers_given_to(node);
  const double made = number(node.bits, to);
  if (operation.starts_with("atom.") || operation.starts_with("red.")) // what it makes is not known
    return sentence("{} combines {}{}.", who, values, words_.operation_named(node));
  if (!operation.starts_with("cvt."))
    return sentence("{} makes {:.10g} of {}{}.", who, made, values, words_.operation_named(node));
  if (const unsigned kept = bits_kept(of, to, graph_.operands_of(node)[0].bits))
    return sentence("{} keeps only the last {} bits of an integer.", who, kept);
  std::string text = sentence("{} converts {}, {}, to {}: {:.10g}.", who, values, type_in_words(of),
                              type_in_words(to), made);
  if (counts_.is_taken_for_another_type(first->node))
    text +=
        sentence("the bits of that are then taken for those of {}.", type_in_words(name_in_ptx(input_.type)));
  return text;
}

// What was added that is no element of the row.
std::string Explanation::explain_terms() {
  for (std::size_t i = 0; i < given_.n; ++i) {
    if (counts_.of_element(i) == 0 || (i >= first_ && i < first_ + columns_)) continue;
    kind_ = "other-row";
    const std::size_t begin = i - i % columns_;
    Indices of_row;
    for (std::size_t j = begin; j < begin + columns_; ++j)
      if (counts_.of_element(j) != 0) of_row.push_back(j - begin);
    const std::vector<NodeId>& loads = counts_.loads_of(i);
    const auto counting =
        std::ranges::find_if(loads, [&](NodeId load) { return counts_.of_node(load) != 0; });
    const Where& read = graph_.node(*counting).where;
    const bool one = of_row.size() == 1;
    const std::string which =
        of_row.size() == columns_ && !one ? "all elements" : in_words(of_row, columns_, given_.block);
    return sentence("{} of row {}{} count{} in the result of row {} too; in line {}, {} reads {}.", which,
                    begin / columns_, of_row.size() == columns_ ? "" : ", counted from its first,",
                    one ? "s" : "", row_, graph_.line(read), words_.thread(read),
                    one ? "it" : "the first of them");
  }
  std::vector<ElementCounts::Term> terms = counts_.terms();
  // A value that is not the result has made no difference to a minimum or maximum.
  if (counts_.is_selection())
    std::erase_if(terms, [&](const ElementCounts::Term& term) { return term.value != got_; });
  if (terms.empty() || nothing_stored_) return "";
  const ElementCounts::Term& term =
      *std::ranges::min_element(terms, {}, &ElementCounts::Term::node); // in time
  const char* const origin = term.origin == of_thread_numbers ? "it is made of a thread's own number"
                             : term.origin == of_arguments ? "it comes from the launch's arguments or sizes"
                                                           : "it is a constant of the program";
  if (ValueGraph::is_bare(term.node)) {
    if (columns_ != 0) return ""; // explain_elements() has said that none counts
    kind_ = "wrong-identity";
    return fmt::format(
        "There are no elements, so the result must be the identity, {:.10g}. It is {:.10g}: {}.",
        identity(input_.type, input_.op), term.value, origin);
  }
  const ValueGraph::Node& node = graph_.node(term.node);
  kind_ = "foreign";
  if (term.origin == term.node) {
    if (node.kind == NodeKind::host) return "";
    if (node.kind == NodeKind::loaded) {
      kind_ = "old-result";
      std::string text = fmt::format(
          " The value {:.10g} that stood in the result before the launch counts too.", term.value);
      if (given_.n == 0)
        text += fmt::format(" Without elements, the result must be the identity, {:.10g}.",
                            identity(input_.type, input_.op));
      return text;
    }
    return ""; // explain_operation() has said it
  }
  const bool is_smallest_positive =
      (input_.type == Type::float32 && term.value == std::numeric_limits<float>::min()) ||
      (input_.type == Type::float64 && term.value == std::numeric_limits<double>::min());
  std::string must;
  if (is_smallest_positive)
    must = fmt::format(" That is numeric_limits<{}>::min(), the smallest normal number above 0.",
                       name_of(input_.type));
  if (is_smallest_positive || input_.op != Operator::add)
    must += fmt::format(" What takes part beside the elements must be the identity, {:.10g}.",
                        identity(input_.type, input_.op));
  if (const std::vector<Where> givers = lanes_that_give(graph_, node, term.value); !givers.empty())
    return sentence("in line {}, {} give{} {:.10g} to the reduction of {} warp: {}.{}",
                    graph_.line(node.where), words_.threads(givers), givers.size() == 1 ? "s" : "",
                    term.value, givers.size() == 1 ? "its" : "their", origin, must);
  return sentence("in line {}, {} takes {:.10g} as a value: {}.{}", graph_.line(node.where),
                  words_.thread(node.where), term.value, origin, must);
}

// For a result that the host computed: what it was given is right, so it is the host's.
Diagnosis Explanation::of_the_host() {
  const NodeId root = graph_.roots[row_];
  if (ValueGraph::is_bare(root) || graph_.node(root).kind != NodeKind::host || graph_.host_copies.empty())
    return {};
  const std::vector<ValueGraph::Operand>& values = graph_.host_copies.back().values;
  std::vector<NodeId> all;
  bool is_right = true;
  for (const ValueGraph::Operand& value : values) {
    if (!ValueGraph::is_bare(value.node))
      all.push_back(value.node);
    else
      is_right = is_right && load_value(input_.type, &value.bits) == identity(input_.type, input_.op);
  }
  counts_.count_from(all);
  is_right = is_right && counts_.terms().empty();
  for (std::size_t i = 0; i < given_.n; ++i) is_right = is_right && counts_.of_element(i) == 1;
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
      std::string(host_adds_wrongly),
      fmt::format("The {} values that are copied to the host are right: together they make {:.10g}. The host "
                  "makes {:.10g} of them.{}",
                  values.size(), expected, got_, what),
      true};
}

// What the check put there before the launch.
bool Explanation::is_old_result(NodeId root) const {
  return !ValueGraph::is_bare(root) && graph_.node(root).kind == NodeKind::loaded &&
         counts_.result_at(graph_.node(root).address);
}

std::string Explanation::untouched() const {
  if (launches_nothing()) return "No kernel is launched, and the result stays what it was before.";
  const auto rows = std::ranges::count_if(graph_.roots, [&](NodeId root) { return is_old_result(root); });
  return given_.rows == 1
             ? "What stood in the result before is still there."
             : fmt::format("Nothing is stored in the result of row {}{}.", row_,
                           rows == 1 ? ""
                                     : fmt::format(" and of {} other row{}", rows - 1, rows == 2 ? "" : "s"));
}

// It may also have made a part of a value.
Diagnosis Explanation::of_library_type() const {
  for (NodeId id = first_node; id < graph_.end(); ++id) {
    const ValueGraph::Node& node = graph_.node(id);
    if (const auto given = counts_.type_given_to_library(node))
      return {
          std::string(library_told_another_type),
          capital(fmt::format("{} takes the bits of {} for those of {}.", words_.who(node.where),
                              type_in_words(*given), type_in_words(operand_type(graph_.operation_of(node))))),
          true};
  }
  return {};
}

namespace {

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

} // namespace

// The computed values that the result depends on, in time.
std::vector<bool> Explanation::on_the_way(bool as_chosen) const {
  std::vector<bool> counts(graph_.end());
  counts[graph_.roots[row_]] = true;
  for (NodeId id = graph_.end(); id-- > first_node;)
    if (counts[id])
      for (const ValueGraph::Operand& operand : graph_.operands_of(graph_.node(id))) {
        counts[operand.node] = true;
        if (as_chosen && graph_.node(id).kind == NodeKind::selected) break;
      }
  return counts;
}

std::vector<ElementCounts::NodeId> Explanation::computed_on_the_way() const {
  const std::vector<bool> counts = on_the_way();
  std::vector<NodeId> computed;
  for (NodeId id = first_node; id < graph_.end(); ++id)
    if (counts[id] && graph_.node(id).kind == NodeKind::computed) computed.push_back(id);
  return computed;
}

std::string Explanation::first_not_finite() const {
  for (const NodeId id : computed_on_the_way()) {
    const ValueGraph::Node& node = graph_.node(id);
    const std::string_view operation = graph_.operation_of(node), of = operand_type(operation),
                           to = result_type(operation);
    if (!of.starts_with('f') || !to.starts_with('f')) continue;
    const double made = number(node.bits, to);
    if (std::isfinite(made)) continue;
    const bool begins_here = std::ranges::all_of(graph_.operands_of(node), [&](const auto& operand) {
      const double given = number(operand.bits, of);
      return !std::isnan(given) && given != made;
    });
    if (begins_here)
      return sentence("{} makes {:.10g} of {}{}.", words_.who(node.where), made, numbers_given_to(node),
                      words_.operation_named(node));
    const bool is_given = std::ranges::any_of(graph_.operands_of(node), [&](const auto& operand) {
      return operand.node == of_constants && std::isnan(number(operand.bits, of));
    });
    if (is_given) return sentence("{} uses a NaN that was made of no element.", words_.who(node.where));
  }
  return "";
}

// On the way to the result, by a kernel that takes the results for its input.
std::string Explanation::unwritten_result_read() const {
  const std::vector<bool> counts = on_the_way();
  for (NodeId id = first_node; id < graph_.end(); ++id) {
    const ValueGraph::Node& node = graph_.node(id);
    if (!counts[id] || node.kind != NodeKind::loaded || id == graph_.roots[row_]) continue;
    if (const auto result = counts_.result_at(node.address))
      return sentence("{} reads the result in column {}, in which nothing has been stored yet.",
                      words_.who(node.where), *result % columns_);
  }
  return "";
}

// Which elements of its row a result has nothing of, and which it has of other rows. Whole results depend on
// the whole row; an element that is masked may be left out.
std::string Explanation::unreached() const {
  const std::vector<bool> counts = on_the_way(true);
  std::vector<bool> is_there(given_.n), is_read(given_.n);
  for (NodeId id = first_node; id < graph_.end(); ++id) {
    const ValueGraph::Node& node = graph_.node(id);
    const auto first = counts_.element_of(node);
    if (!first) continue;
    const std::size_t end =
        std::min(given_.n, *first + std::max<std::size_t>(1, node.width / size_of(input_.type)));
    for (std::size_t element = *first; element < end; ++element) {
      is_read[element] = true;
      if (counts[id]) is_there[element] = true;
    }
  }
  const std::size_t result_row = row_ / (graph_.roots.size() / given_.rows), begin = result_row * columns_;
  Indices missing;
  std::size_t missing_and_read = 0, needed = 0;
  for (std::size_t column = 0; column < columns_; ++column) {
    if (!std::isfinite(input_[begin + column])) continue;
    ++needed;
    if (is_there[begin + column]) continue;
    missing.push_back(column);
    missing_and_read += is_read[begin + column];
  }
  std::optional<std::size_t> other_row;
  for (std::size_t element = 0; element < given_.n && !other_row; ++element)
    if (is_there[element] && element / columns_ != result_row) other_row = element / columns_;
  const std::string its_row = given_.rows == 1 ? "the row" : fmt::format("row {}", result_row);
  const std::size_t column = row_ % (graph_.roots.size() / given_.rows);
  const std::string result =
      graph_.roots.size() == given_.rows ? "the sum" : fmt::format("the result in column {}", column);
  std::string text;
  if (other_row) text = sentence("elements of row {} get into {}.", *other_row, result);
  if (missing.empty()) return text;
  const std::string which =
      missing.size() == needed ? "any element" : in_words(missing, columns_, given_.block);
  if (missing_and_read == 0) return text + sentence("no thread reads {} of {}.", which, its_row);
  return text + sentence("nothing of {} of {} gets into {}{}.", which, its_row, result,
                         missing_and_read == missing.size() ? ", although they are read" : "");
}

// On the way to the result, although the elements are no floats.
Diagnosis Explanation::of_rounding_to_float() const {
  if (input_.type == Type::float32 || input_.type == Type::bfloat16) return {};
  for (const NodeId id : computed_on_the_way()) {
    const ValueGraph::Node& node = graph_.node(id);
    if (result_type(graph_.operation_of(node)) != "f32") continue;
    const auto exact = before_rounding(graph_, node);
    if (!exact || *exact == number(node.bits, "f32")) continue;
    return {
        "rounded-to-float",
        capital(fmt::format("{} makes {:.10g} of {:.17g}{}: a float keeps 24 bits, and each element is {}.",
                            words_.who(node.where), number(node.bits, "f32"), *exact,
                            words_.operation_named(node), type_in_words(name_in_ptx(input_.type)))),
        true};
  }
  return {};
}

// Whether what is cut off the integer is what the program has put there: a mark in the upper half of a word.
bool Explanation::cuts_off_constant(const ValueGraph::Node& conversion, unsigned kept) const {
  const ValueGraph::Operand& cut = graph_.operands_of(conversion)[0];
  if (ValueGraph::is_bare(cut.node)) return false;
  const ValueGraph::Node& made = graph_.node(cut.node);
  if (made.kind == NodeKind::packed) return true;
  return graph_.operation_of(made).starts_with("or.") &&
         std::ranges::any_of(graph_.operands_of(made), [&](const ValueGraph::Operand& operand) {
           return ValueGraph::is_bare(operand.node) && operand.bits >> kept == cut.bits >> kept;
         });
}

// The first conversion to an integer on the way to the result that changes the number.
Diagnosis Explanation::of_lost_bits() const {
  for (const NodeId id : computed_on_the_way()) {
    const ValueGraph::Node& node = graph_.node(id);
    const std::string_view operation = graph_.operation_of(node), of = operand_type(operation),
                           to = result_type(operation);
    if (!operation.starts_with("cvt.") || to.find('f') != to.npos) continue;
    if (counts_.is_taken_for_another_type(id)) continue; // a number is packed with other bits
    const std::uint64_t bits = graph_.operands_of(node)[0].bits;
    const double before = number(bits, of), after = number(node.bits, to);
    const unsigned kept = bits_kept(of, to, bits);
    if (kept && cuts_off_constant(node, kept)) continue;
    if (kept && of.starts_with('u'))
      return {
          "lost-bits",
          capital(fmt::format("{} keeps only the last {} bits of an integer.", words_.who(node.where), kept)),
          true};
    if (before != after)
      return {"lost-bits",
              capital(fmt::format("{} converts {:.10g}, {}, to {}: {:.10g}.", words_.who(node.where), before,
                                  type_in_words(of), type_in_words(to), after)),
              true};
  }
  return {};
}

Diagnosis Explanation::diagnosis() {
  if (!graph_.complete || row_ >= graph_.roots.size()) return {};
  if (Diagnosis found = of_library_type(); !found.kind.empty()) return found;
  // Of what matrices make of them, it is not known how often elements count.
  const bool by_matrices = std::ranges::any_of(
      graph_.places, [](const ValueGraph::Place& place) { return place.operation.starts_with("mma."); });
  if (by_matrices || !counts_.explain_result()) {
    if (Diagnosis found = of_rounding_to_float(); !found.kind.empty()) return found;
    if (Diagnosis found = of_lost_bits(); !found.kind.empty()) return found;
    if (std::string text = std::isnan(got_) ? first_not_finite() : ""; !text.empty())
      return {"not-a-number", text.substr(1), true};
    if (given_.devices > 1) return {}; // it may have been NCCL
    if (Diagnosis found = of_the_host(); !found.kind.empty()) return found;
    const std::string text = by_matrices ? unreached() : "";
    return text.empty() ? Diagnosis{} : Diagnosis{"unreached", text.substr(1), true};
  }
  nothing_stored_ = is_old_result(graph_.roots[row_]) &&
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
  if (nothing_stored_) kind_ = "never-written", text = untouched() + (launches_nothing() ? "" : text);
  if (text.empty()) return {};
  if (text.starts_with(' ')) text.erase(0, 1);
  return {kind_, text, columns_ != 0};
}

} // namespace

Diagnosis from_values(const Outcome& outcome, const Case& given, const Sequence& input, std::size_t row) {
  if (outcome.followed.graph.empty() || outcome.results.size() <= row) return {};
  const ValueGraph graph = value_graph_from(outcome.followed.graph);
  return Explanation(graph, outcome, given, input, row).diagnosis();
}

std::string unreached_elements(const ValueGraph& graph, const Outcome& outcome, const Case& given,
                               const Sequence& input, std::size_t result) {
  return Explanation(graph, outcome, given, input, result).unreached();
}

std::string unwritten_result_read(const ValueGraph& graph, const Outcome& outcome, const Case& given,
                                  const Sequence& input, std::size_t result) {
  return Explanation(graph, outcome, given, input, result).unwritten_result_read();
}

std::string cut_off_on_the_way(const ValueGraph& graph, const Outcome& outcome, const Case& given,
                               const Sequence& input, std::size_t result) {
  return Explanation(graph, outcome, given, input, result).of_lost_bits().text;
}

std::string first_not_finite(const ValueGraph& graph, const Outcome& outcome, const Case& given,
                             const Sequence& input, std::size_t result) {
  return Explanation(graph, outcome, given, input, result).first_not_finite();
}

} // namespace lab
