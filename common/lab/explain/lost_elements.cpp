#include "explain/lost_elements.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <vector>

namespace lab {
namespace {

// Of all the values that each went into and that go into nothing themselves, the one that should have gone
// on.
std::vector<NodeId> ends_of_ways(const FollowedResult& result) {
  struct End {
    bool fits = false;        // had it gone on, each of its elements would count once
    bool overwritten = false; // other than what is left over at the end, as in a tree that is right
    std::size_t elements = 0;
    bool stored = false;    // for others to read
    std::int64_t first = 0; // of several threads that have it, the first may have been meant to go on
    NodeId node = 0;
    auto operator<=>(const End&) const = default;
  };
  std::vector<bool> stored(result.graph.end()), overwritten(result.graph.end());
  for (const ValueGraph::Loss& loss : result.graph.losses) {
    stored[loss.node] = true;
    if (loss.overwritten) overwritten[loss.node] = true;
  }
  std::vector<End> ends(result.graph.end());
  const auto end_at = [&](NodeId id) {
    if (result.counts.is_selection()) return End{.fits = true, .node = id};
    const auto counted = result.counts.elements_in(id);
    const auto is_missing = [&](const auto& each) {
      return each.second == 1 && result.counts.of_element(each.first) == 0;
    };
    return End{std::ranges::all_of(counted, is_missing),
               overwritten[id],
               counted.size(),
               stored[id],
               -static_cast<std::int64_t>(result.graph.node(id).where.thread),
               id};
  };
  std::vector<bool> concerned(result.graph.end());
  for (std::size_t i = result.first; i < result.first + result.columns; ++i)
    if (result.counts.of_element(i) == 0)
      for (const NodeId load : result.counts.loads_of(i)) concerned[load] = true;
  for (NodeId id = first_node; id < result.graph.end(); ++id)
    if (concerned[id])
      for (const NodeId user : result.counts.users_of(id)) concerned[user] = true;
  for (NodeId id = result.graph.end(); id-- > first_node;) {
    if (!concerned[id]) continue;
    if (result.counts.users_of(id).empty()) ends[id] = end_at(id);
    for (const NodeId user : result.counts.users_of(id)) ends[id] = std::max(ends[id], ends[user]);
  }
  std::vector<NodeId> nodes(result.graph.end());
  for (NodeId id = first_node; id < result.graph.end(); ++id) nodes[id] = ends[id].fits ? ends[id].node : 0;
  return nodes;
}

// The value in which a thread hands it on to others, or in which it ends.
NodeId handed_on(const FollowedResult& result, NodeId id) {
  for (;;) {
    const std::vector<NodeId>& users = result.counts.users_of(id);
    if (users.size() != 1 || !is_same_thread(result.graph.node(users[0]).where, result.graph.node(id).where))
      return id;
    id = users[0];
  }
}

// The same value in the first thread of the warp that has a use for it; otherwise the node itself.
NodeId used_twin(const FollowedResult& result, NodeId id) {
  const ValueGraph::Node& node = result.graph.node(id);
  if (!result.counts.users_of(id).empty()) return id;
  NodeId found = id;
  for (NodeId other = first_node; other < result.graph.end(); ++other) {
    const Where& at = result.graph.node(other).where;
    if (at.place == node.where.place && at.launch == node.where.launch && at.block == node.where.block &&
        at.thread / 32 == node.where.thread / 32 && at.thread < result.graph.node(found).where.thread &&
        result.graph.node(other).bits ==
            node.bits && // the elements of each sum of a long row would take long
        !result.counts.users_of(other).empty() &&
        result.counts.elements_in(other) == result.counts.elements_in(id))
      found = other;
  }
  return found;
}

// Elements of which the same became.
struct Story {
  Indices elements;
  NodeId node = 0; // in which the way of the first ends
  const ValueGraph::Loss* loss = nullptr;
  bool is_one = true; // all of them end there
};

// What became of most of these.
Story main_story(const FollowedResult& result, const Indices& elements) {
  const std::vector<NodeId> ends = ends_of_ways(result);
  std::multimap<NodeId, const ValueGraph::Loss*> losses;
  for (const ValueGraph::Loss& loss : result.graph.losses) losses.emplace(loss.node, &loss);
  std::map<std::tuple<bool, bool, std::uint32_t, std::uint32_t>, Story> stories;
  for (const std::size_t element : elements) {
    NodeId end = 0;
    for (const NodeId load : result.counts.loads_of(element)) end = std::max(end, ends[load]);
    if (end == 0) end = handed_on(result, result.counts.loads_of(element).front());
    const auto [begin, stop] = losses.equal_range(end);
    const ValueGraph::Loss* loss = nullptr;
    for (auto each = begin; each != stop; ++each)
      if (!loss || (each->second->overwritten && !loss->overwritten)) loss = each->second;
    Story& story =
        stories[{loss != nullptr, loss && loss->overwritten,
                 loss ? loss->stored.place : result.graph.node(end).where.place, loss ? loss->by.place : 0}];
    if (story.elements.empty()) story.node = end, story.loss = loss;
    story.is_one = story.is_one && story.node == end;
    story.elements.push_back(element);
  }
  Story story = std::ranges::max_element(stories, {}, [](const auto& each) {
                  return each.second.elements.size();
                })->second;
  if (!story.loss) story.node = used_twin(result, story.node);
  return story;
}

// That something was made of a value which is not in the result. `who_has`: who has it, as what.
std::string used_in_vain(const FollowedResult& result, const Story& story, const std::string& who_has,
                         std::vector<NodeId> users) {
  const auto is_of = [&](const Where& at) {
    return [&](NodeId user) { return is_same_thread(result.graph.node(user).where, at); };
  };
  const Where& made = result.graph.node(story.node).where;
  if (!std::ranges::all_of(users, is_of(made))) std::erase_if(users, is_of(made));
  const Where& user = result.graph.node(users[0]).where;
  const std::string lines = result.words.lines_of(users);
  const std::string its_result =
      result.given.rows == 1 ? "the result" : fmt::format("the result of row {}", result.row);
  if (is_same_thread(user, made))
    return sentence("{}, and what it makes of that in {} does not get into {}.", who_has, lines, its_result);
  const bool one = std::ranges::all_of(users, is_of(user));
  return sentence("{}. {} take{} that from there in {}, and what {} of it does not get into {}.", who_has,
                  capital(result.words.threads_of(users)), one ? "s" : "", lines,
                  one ? "it makes" : "they make", its_result);
}

} // namespace

Finding lost_elements(const FollowedResult& result, const Indices& elements, std::size_t missing) {
  const Story story = main_story(result, elements);
  const ValueGraph& graph = result.graph;
  const Where& made = graph.node(story.node).where;
  if (graph.line(made) == 0 && graph.library_call(made).empty()) return {}; // the host has copied it
  const std::string value = result.words.value_of(story.node), who = result.words.who(made);
  const bool is_all = story.elements.size() == missing;
  const std::string group = is_all ? "" : in_words(story.elements, result.given.n, result.given.block);
  const std::string which =
      story.is_one ? (is_all ? "" : group + ": ")
      : is_all
          ? fmt::format("Element {}, for example: ", story.elements[0])
          : fmt::format("what becomes of {} shows in element {}, for example: ", group, story.elements[0]);
  const auto row = static_cast<std::size_t>(std::ranges::find(graph.roots, story.node) - graph.roots.begin());
  if (row == result.row) return {}; // it is the result, and has no element in it
  if (row < graph.roots.size())
    return {"other-row",
            sentence("{}{} has {}, which becomes the result of row {}.", which, who, value, row)};
  const bool is_loaded = graph.node(story.node).kind == NodeKind::loaded;
  const std::string who_has = fmt::format("{}{} {} {}", which, who, is_loaded ? "reads" : "has", value);
  if (const std::vector<NodeId>& users = result.counts.users_of(story.node); !users.empty())
    return {"not-used", used_in_vain(result, story, who_has, users)};
  if (!story.loss)
    return {"not-used", sentence("{}, and {}.", who_has,
                                 result.counts.is_selection() ? "after that it is lost"
                                                              : "nothing that is used is made of that")};
  const ValueGraph::Loss& loss = *story.loss;
  const Where& stored_by = graph.line(loss.stored) == 0 ? made : loss.stored; // it may be a library's copy
  const std::string stored =
      fmt::format("{}{} stores {} in {}", which, result.words.who(stored_by), value, loss.place);
  if (!loss.overwritten) return {"never-read", sentence("{}, and nothing uses it from there.", stored)};
  if (graph.line(loss.by) == 0) return {"overwritten", sentence("{}. The host overwrites it.", stored)};
  return {"overwritten", sentence("{}. {} overwrites it in line {} before anything has read it.", stored,
                                  capital(result.words.thread(loss.by)), graph.line(loss.by))};
}

} // namespace lab
