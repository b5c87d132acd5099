#include "explain/what_threads_read.hpp"

#include "explain/index_names.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>
#include <vector>

namespace lab {

std::string WhatThreadsRead::formula() {
  if (std::exchange(is_reported_, true) || result_.given.devices > 1) return "";
  using Thread = std::pair<std::uint32_t, std::uint32_t>; // block, thread
  std::map<unsigned, std::map<Thread, Indices>> by_line;  // a loop may have been unrolled
  for (NodeId id = first_node; id < result_.graph.end(); ++id) {
    const ValueGraph::Node& node = result_.graph.node(id);
    if (node.where.launch != 0) continue;
    for (auto [element, end] = result_.counts.loaded_by(node); element < end; ++element)
      by_line[result_.graph.line(node.where)][{node.where.block, node.where.thread}].push_back(element);
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
  std::size_t most = 0, least = result_.columns; // that one thread reads
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
  const ValueGraph::Launch& launch = result_.graph.launches[0];
  if (!launch.one_dimension) return "";
  const IndexNames names = index_names(result_.in_opencl);
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
                     all_read ? "" : ", if anything,", index, result_.in_place ? ", still unchanged" : "",
                     key, key.empty() ? "" : ", ", names.block_size, launch.threads, names.grid_size,
                     launch.blocks);
}

// The line of a load in a kernel that ran and that no thread executed.
std::optional<unsigned> WhatThreadsRead::load_never_reached() const {
  for (const ValueGraph::Launch& launch : result_.graph.launches)
    for (const unsigned line : launch.lines_of_loads)
      if (line != 0 && std::ranges::none_of(result_.graph.places, [&](const ValueGraph::Place& place) {
            return place.line == line && place.operation.starts_with("ld");
          }))
        return line;
  return std::nullopt;
}

std::string WhatThreadsRead::unread(const Indices& elements, std::size_t missing) {
  const std::string which =
      elements.size() == result_.columns ? result_.given.rows == 1 ? "any element" : "any of this row"
      : elements.size() == missing       ? missing == 1 ? "that one" : "those that do not count"
                                         : in_words(elements, result_.given.n, result_.given.block);
  // Where the first are missing, they may have been replaced by the later ones.
  const bool may_be_left_out = elements.size() + 1 >= result_.given.n ||
                               (elements.front() == result_.first && result_.given.rows == 1);
  const std::optional<unsigned> never_reached = may_be_left_out ? load_never_reached() : std::nullopt;
  if (never_reached)
    return fmt::format(" No thread reads {}: none gets to the read in line {}.{}", which, *never_reached,
                       formula());
  return fmt::format(
      " No thread reads {}{}.{}", which,
      may_be_left_out
          ? "; the compiler leaves out a read whose value is not used, such as one that the "
            "next replaces (= in place of +=), that goes to a parameter which is not used, or that a "
            "comparison never chooses"
          : "",
      formula());
}

} // namespace lab
