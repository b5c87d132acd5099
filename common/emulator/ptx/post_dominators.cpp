#include "ptx/post_dominators.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace warpfold::ptx {
namespace {

constexpr std::uint32_t none = BasicBlock::none;

// The function's blocks and one virtual exit after them, with the edges that matter.
class Graph {
public:
  Graph(std::vector<BasicBlock>& blocks, const std::vector<Instruction>& body)
      : blocks_(blocks), body_(body), exit_(static_cast<std::uint32_t>(blocks.size())), next_(blocks.size()),
        before_(blocks.size() + 1), entries_(blocks.size(), 0), way_out_(blocks.size(), Way::unknown),
        reaches_exit_(blocks.size() + 1, false) {
    for (const BasicBlock& block : blocks) {
      for (const std::uint32_t next : block.successors) ++entries_[next];
    }
    for (std::uint32_t block = 0; block < exit_; ++block) connect(block);
    mark(exit_);
    restore_edges();
  }

  std::uint32_t exit() const { return exit_; }
  const std::vector<std::uint32_t>& next(std::uint32_t block) const { return next_[block]; }
  const std::vector<std::uint32_t>& before(std::uint32_t block) const { return before_[block]; }

private:
  enum class Way : std::uint8_t { unknown, stays, returns, traps };

  std::string_view last_opcode(std::uint32_t block) const { return body_[blocks_[block].end - 1].opcode; }

  void add_edge(std::uint32_t from, std::uint32_t to) {
    next_[from].push_back(to);
    before_[to].push_back(from);
  }

  // Whether a branch into this block only leads out. Follows the straight run of blocks that begins here and
  // records the answer for all of them, so that every block is visited once.
  Way way_out(std::uint32_t block) {
    std::vector<std::uint32_t> run;
    Way way = Way::unknown;
    while (way == Way::unknown) {
      if (way_out_[block] != Way::unknown) {
        way = way_out_[block];
        break;
      }
      way_out_[block] = Way::stays; // the result for a cycle of blocks
      run.push_back(block);
      const auto& successors = blocks_[block].successors;
      if (successors.empty()) {
        way = last_opcode(block) == "trap" ? Way::traps : Way::returns;
      } else if (successors.size() == 1) {
        block = successors[0];
      } else {
        way = Way::stays;
      }
    }
    for (auto each = run.rbegin(); each != run.rend(); ++each) {
      const bool bare = blocks_[*each].end - blocks_[*each].begin == 1 && blocks_[*each].successors.empty();
      if (way == Way::returns && !bare && entries_[*each] > 1) way = Way::stays;
      way_out_[*each] = way;
    }
    return way_out_[run.empty() ? block : run.front()];
  }

  void connect(std::uint32_t block) {
    const auto& successors = blocks_[block].successors;
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t successor : successors) {
      const Way way = way_out(successor);
      if (way != Way::returns && way != Way::traps) kept.push_back(successor);
    }
    if (kept.empty()) kept = successors;
    for (const std::uint32_t successor : kept) add_edge(block, successor);
    if (successors.empty()) add_edge(block, exit_);
  }

  // Marks everything from which `block` can be reached.
  void mark(std::uint32_t block) {
    std::vector<std::uint32_t> stack{block};
    reaches_exit_[block] = true;
    while (!stack.empty()) {
      const std::uint32_t each = stack.back();
      stack.pop_back();
      for (const std::uint32_t before : before_[each]) {
        if (reaches_exit_[before]) continue;
        reaches_exit_[before] = true;
        stack.push_back(before);
      }
    }
  }

  // The blocks from which the function goes round again: from which an edge leads to a block on the path to
  // them.
  std::vector<bool> ends_of_rounds() const {
    std::vector<bool> found(exit_, false), seen(exit_, false), on_path(exit_, false);
    std::vector<std::pair<std::uint32_t, std::size_t>> stack{{0, 0}};
    seen[0] = on_path[0] = true;
    while (!stack.empty()) {
      auto& [block, position] = stack.back();
      if (position == blocks_[block].successors.size()) {
        on_path[block] = false;
        stack.pop_back();
        continue;
      }
      const std::uint32_t next = blocks_[block].successors[position++];
      if (on_path[next]) found[block] = true;
      if (seen[next]) continue;
      seen[next] = on_path[next] = true;
      stack.emplace_back(next, 0);
    }
    return found;
  }

  // A loop that is only left by `ret` has lost its only way to the end. It gets edges back, as few as
  // possible: first the last `ret` in the text, and a `trap` only if there is no `ret`. A loop without an end
  // counts as ending where a round of it does, so that lanes which part within a round meet again.
  void restore_edges() {
    const std::vector<bool> ends_round = ends_of_rounds();
    struct Step {
      Way way;
      bool after_rounds;
    };
    for (const auto& [wanted, after_rounds] : {Step{Way::returns, false}, Step{Way::traps, false},
                                               Step{Way::unknown, true}, Step{Way::unknown, false}}) {
      for (std::uint32_t block = exit_; block-- > 0;) {
        if (reaches_exit_[block] || (after_rounds && !ends_round[block])) continue;
        const auto& successors = blocks_[block].successors;
        const auto lost = std::find_if(successors.begin(), successors.end(),
                                       [&](std::uint32_t each) { return way_out_[each] == wanted; });
        if (wanted != Way::unknown && lost == successors.end()) continue;
        add_edge(block, wanted == Way::unknown ? exit_ : *lost);
        mark(block);
      }
    }
  }

  std::vector<BasicBlock>& blocks_;
  const std::vector<Instruction>& body_;
  std::uint32_t exit_;
  std::vector<std::vector<std::uint32_t>> next_, before_;
  std::vector<std::uint32_t> entries_; // the number of edges into each block
  std::vector<Way> way_out_;
  std::vector<bool> reaches_exit_;
};

// Depth first from the exit against the edges, without recursion, because bodies have tens of thousands of
// blocks.
std::vector<std::uint32_t> postorder(const Graph& graph) {
  std::vector<std::uint32_t> order;
  std::vector<bool> seen(graph.exit() + 1, false);
  std::vector<std::pair<std::uint32_t, std::size_t>> stack{{graph.exit(), 0}};
  seen[graph.exit()] = true;
  while (!stack.empty()) {
    auto& [block, position] = stack.back();
    const auto& before = graph.before(block);
    if (position == before.size()) {
      order.push_back(block);
      stack.pop_back();
      continue;
    }
    const std::uint32_t each = before[position++];
    if (seen[each]) continue;
    seen[each] = true;
    stack.emplace_back(each, 0);
  }
  return order;
}

// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed graph.
std::vector<std::uint32_t> dominators(const Graph& graph) {
  const std::vector<std::uint32_t> order = postorder(graph);
  std::vector<std::uint32_t> number(graph.exit() + 1, 0), dominator(graph.exit() + 1, none);
  for (std::uint32_t index = 0; index < order.size(); ++index) number[order[index]] = index;
  const auto meet = [&](std::uint32_t left, std::uint32_t right) {
    while (left != right) {
      while (number[left] < number[right]) left = dominator[left];
      while (number[right] < number[left]) right = dominator[right];
    }
    return left;
  };
  dominator[graph.exit()] = graph.exit();
  for (bool changed = true; changed;) {
    changed = false;
    for (auto each = order.rbegin() + 1; each != order.rend(); ++each) {
      std::uint32_t merged = none;
      for (const std::uint32_t next : graph.next(*each)) {
        if (dominator[next] == none) continue; // not yet processed in this pass
        merged = merged == none ? next : meet(merged, next);
      }
      changed |= merged != dominator[*each];
      dominator[*each] = merged;
    }
  }
  return dominator;
}

} // namespace

void find_post_dominators(std::vector<BasicBlock>& blocks, const std::vector<Instruction>& body) {
  const Graph graph(blocks, body);
  const std::vector<std::uint32_t> dominator = dominators(graph);
  for (std::uint32_t block = 0; block < graph.exit(); ++block) {
    blocks[block].post_dominator = dominator[block] == graph.exit() ? none : dominator[block];
  }
}

} // namespace warpfold::ptx
