#include "runtime/graphs/conditions.hpp"

#include "runtime/graphs/graph_table.hpp"

#include <map>
#include <mutex>

namespace warpfold::runtime {
namespace {

struct Value {
  unsigned now = 0, first = 0;
  bool begins_anew = false; // with each launch of the graph
  bool is_used = false;     // by a node
};

// Handles are not used again: a graph that has been destroyed may still run.
struct Values {
  std::mutex mutex;
  std::map<cudaGraphConditionalHandle, Value> all;

  static Values& get() {
    static Values& values = *new Values;
    return values;
  }
  // Null if there is no such handle.
  Value* find(cudaGraphConditionalHandle handle) {
    const auto found = all.find(handle);
    return found == all.end() ? nullptr : &found->second;
  }
};

unsigned value_of(cudaGraphConditionalHandle handle) {
  Values& values = Values::get();
  const std::lock_guard lock(values.mutex);
  return values.all.at(handle).now;
}

} // namespace

Condition::Condition(cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type, unsigned size)
    : handle_(handle), type_(type) {
  if (size == 0 || (type == cudaGraphCondTypeWhile && size > 1) || (type == cudaGraphCondTypeIf && size > 2))
    throw Refusal(cudaErrorInvalidValue,
                  "a conditional node has one graph (while), one or two (if), or any number (switch)");
  Values& values = Values::get();
  const std::lock_guard lock(values.mutex);
  Value* const value = values.find(handle);
  if (!value) throw Refusal(cudaErrorInvalidValue, "not a handle of cudaGraphConditionalHandleCreate");
  if (value->is_used) throw Refusal(cudaErrorInvalidValue, "another node uses this condition already");
  value->is_used = true;
  for (unsigned i = 0; i < size; ++i) graphs_.push_back(keep(std::make_unique<Graph>()));
}

Condition::~Condition() {
  for (const cudaGraph_t graph : graphs_) discard(reinterpret_cast<Graph*>(graph));
}

Work Condition::work() const {
  std::vector<std::vector<ExecutableGraph::Step>> steps;
  for (const cudaGraph_t graph : graphs_) steps.push_back(steps_of(graph_of(graph)));
  return [handle = handle_, type = type_, steps = std::move(steps)] {
    if (type == cudaGraphCondTypeWhile) {
      while (value_of(handle) != 0)
        if (const cudaError_t error = run_steps(steps[0]); error != cudaSuccess) return error;
      return cudaSuccess;
    }
    const unsigned value = value_of(handle);
    const std::size_t chosen = type == cudaGraphCondTypeSwitch ? value : value != 0 ? 0 : 1;
    return chosen < steps.size() ? run_steps(steps[chosen]) : cudaSuccess;
  };
}

bool set_condition(cudaGraphConditionalHandle handle, unsigned value) {
  Values& values = Values::get();
  const std::lock_guard lock(values.mutex);
  Value* const found = values.find(handle);
  if (found) found->now = value;
  return found != nullptr;
}

void restore_condition(cudaGraphConditionalHandle handle) {
  Values& values = Values::get();
  const std::lock_guard lock(values.mutex);
  Value& value = values.all.at(handle);
  if (value.begins_anew) value.now = value.first;
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph,
                                                        unsigned first, unsigned flags) {
  return with_table("cudaGraphConditionalHandleCreate", [&](GraphTable& table) {
    if (!handle || flags > cudaGraphCondAssignDefault) return cudaErrorInvalidValue;
    table.graph(graph);
    Values& values = Values::get();
    const std::lock_guard lock(values.mutex);
    *handle = values.all.size() + 1;
    values.all[*handle] = {first, first, flags == cudaGraphCondAssignDefault, false};
    return cudaSuccess;
  });
}
