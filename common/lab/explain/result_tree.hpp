// How a result was made, as a tree: the elements that were read, the steps that joined them, and what was
// lost on the way.
#pragma once

#include "run/runner.hpp"

#include <nlohmann/json_fwd.hpp>

namespace lab {

// JSON: {"complete", "joined_by": "+", "min", "max", "x" or "&", "result": id, "unread": [element, ...],
// "nodes": [...]}, operands before what is made of them. A node is {"id", "kind": "element", "step", "host"
// or "memory", "value", "line", "thread": in words, "operation", "of": [id, ...], "constants": [value, ...]
// that were joined with them, "elements": [[element, how often it counts], ...], "holds": these in words,
// "wrong": [sentence, ...], "lost": a sentence or ""}. Steps that only pass a value on are left out.
// `outcome` is that of a run with values followed; "complete" is false if they could not be. Throws
// std::length_error if the tree is too large to be drawn.
nlohmann::ordered_json result_tree(const Outcome& outcome, const Case& given, const Sequence& input,
                                   std::size_t row);

} // namespace lab
