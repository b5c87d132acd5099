// Whole graphs: creating, copying, instantiating and launching them.
#include "runtime/graphs/conditions.hpp"
#include "runtime/graphs/graph_memory.hpp"
#include "runtime/graphs/graph_table.hpp"
#include "runtime/graphs/graph_work.hpp"
#include "runtime/ordering/ordering.hpp"

#include <algorithm>
#include <list>

namespace warpfold::runtime {

GraphNode* Graph::add(cudaGraphNodeType type, Work work, std::vector<GraphNode*> dependencies) {
  for (const GraphNode* dependency : dependencies)
    if (!contains(dependency))
      throw Refusal(cudaErrorInvalidValue, "a dependency is not a node of this graph");
  auto node = std::make_unique<GraphNode>();
  node->type = type;
  node->work = std::move(work);
  node->dependencies = std::move(dependencies);
  return nodes.emplace_back(std::move(node)).get();
}

bool Graph::contains(const GraphNode* node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& known) { return known.get() == node; });
}

std::vector<GraphNode*> nodes_behind(const cudaGraphNode_t* handles, std::size_t count) {
  if (count == 0) return {};
  if (!handles) throw Refusal(cudaErrorInvalidValue, "the dependencies are null");
  const auto* const first = reinterpret_cast<GraphNode* const*>(handles);
  return {first, first + count};
}

bool Graph::has_memory_nodes() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node->memory != nullptr; });
}

bool Graph::has_conditions() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node->condition != nullptr; });
}

cudaGraphNode_t GraphTable::add_memory_node(cudaGraph_t handle, const cudaGraphNode_t* dependencies,
                                            std::size_t count, cudaGraphNodeType type,
                                            std::shared_ptr<GraphMemory> memory) {
  GraphNode* const node = graph(handle).add(type, memory->renewal(), nodes_behind(dependencies, count));
  node->memory = std::move(memory);
  return reinterpret_cast<cudaGraphNode_t>(node);
}

namespace {

enum class Mark { none, entered, done };

void visit(const GraphNode* node, std::map<const GraphNode*, Mark>& marks,
           std::vector<const GraphNode*>& order) {
  Mark& mark = marks[node];
  if (mark == Mark::done) return;
  if (mark == Mark::entered) throw Refusal(cudaErrorInvalidValue, "the graph's dependencies form a cycle");
  mark = Mark::entered;
  for (const GraphNode* dependency : node->dependencies) visit(dependency, marks, order);
  marks[node] = Mark::done;
  order.push_back(node);
}

} // namespace

std::vector<const GraphNode*> in_order(const Graph& graph) {
  std::map<const GraphNode*, Mark> marks;
  std::vector<const GraphNode*> order;
  for (const auto& node : graph.nodes) visit(node.get(), marks, order);
  return order;
}

cudaError_t run_steps(const std::vector<ExecutableGraph::Step>& steps) {
  std::vector<ordering::Step> to_do;
  std::list<Work> children;
  static const Work nothing;
  for (const auto& step : steps) {
    const Work* work = step.enabled ? &step.work : &nothing;
    if (!step.inner.empty()) work = &children.emplace_back([&step] { return run_steps(step.inner); });
    to_do.push_back({step.type, work, &step.after});
  }
  return ordering::carry_out(to_do);
}

std::vector<ExecutableGraph::Step> steps_of(const Graph& graph) {
  std::vector<ExecutableGraph::Step> steps;
  std::map<const GraphNode*, std::size_t> place;
  for (const GraphNode* node : in_order(graph)) {
    std::vector<std::size_t> after;
    for (const GraphNode* dependency : node->dependencies) after.push_back(place.at(dependency));
    place[node] = steps.size();
    Work work = node->condition ? node->condition->work() : node->work;
    auto inner = node->child ? steps_of(graph_of(node->child->handle)) : std::vector<ExecutableGraph::Step>();
    steps.push_back({node, node->type, std::move(work), std::move(after), node->memory, std::move(inner)});
  }
  return steps;
}

namespace {

// The nodes of events in one launch. What they wait for, the whole graph waits for; and an event that one of
// them records is complete once the graph is, but has the time at which the node was reached.
class EventNodes {
public:
  void prepare(std::vector<ExecutableGraph::Step>& steps, cudaStream_t stream) {
    for (auto& step : steps) {
      prepare(step.inner, stream);
      const auto* const work = step.work.target<EventWork>();
      if (!work) continue;
      if (is_captured(stream))
        throw Refusal(cudaErrorNotSupported,
                      "a graph with nodes of events is launched into a captured stream");
      const cudaEvent_t event = work->event;
      if (step.type == cudaGraphNodeTypeWaitEvent) {
        if (const cudaError_t error = cudaStreamWaitEvent(stream, event, 0); error != cudaSuccess)
          throw Refusal(error, "a node's event is not there any more");
        continue;
      }
      check_event(event);
      auto time = std::make_shared<EventTime>();
      step.work = [time] { return *time = EventTime::clock::now(), cudaSuccess; };
      recorded_.emplace_back(event, std::move(time));
    }
  }
  void record(cudaStream_t stream) const {
    for (const auto& [event, time] : recorded_) record_event(event, stream, time);
  }

private:
  std::vector<std::pair<cudaEvent_t, std::shared_ptr<EventTime>>> recorded_;
};

void collect_conditions(const Graph& graph, std::vector<unsigned long long>& found) {
  for (const auto& node : graph.nodes) {
    if (!node->condition) continue;
    found.push_back(node->condition->handle());
    for (const cudaGraph_t inner : node->condition->graphs()) collect_conditions(graph_of(inner), found);
  }
}

cudaError_t instantiate(const char* caller, cudaGraphExec_t* executable, cudaGraph_t handle,
                        unsigned long long flags) {
  return with_table(caller, [&](GraphTable& table) {
    if (!executable) return cudaErrorInvalidValue;
    Graph& graph = table.graph(handle);
    if (graph.has_memory_nodes() && !graph.instance.expired())
      throw Refusal(cudaErrorNotSupported,
                    "a graph that allocates memory can be instantiated once at a time");
    auto made = std::make_unique<ExecutableGraph>();
    made->steps = steps_of(graph);
    collect_conditions(graph, made->conditions);
    made->flags = flags;
    made->objects = graph.objects;
    graph.instance = made->instance;
    *executable = reinterpret_cast<cudaGraphExec_t>(made.get());
    table.executables[made.get()] = std::move(made);
    return cudaSuccess;
  });
}

} // namespace

cudaGraph_t keep(std::unique_ptr<Graph> graph) {
  GraphTable& table = GraphTable::get();
  std::lock_guard lock(table.mutex);
  Graph* kept = graph.get();
  table.graphs[kept] = std::move(graph);
  return reinterpret_cast<cudaGraph_t>(kept);
}

void discard(Graph* graph) {
  GraphTable& table = GraphTable::get();
  std::lock_guard lock(table.mutex);
  const auto gone = table.graphs.extract(graph); // its conditional nodes discard their own graphs
}

std::unique_ptr<Graph> copy_of(const Graph& graph) {
  if (graph.has_memory_nodes())
    throw Refusal(cudaErrorNotSupported,
                  "a graph that allocates memory can be neither cloned nor another's child");
  if (graph.has_conditions())
    throw Refusal(cudaErrorNotSupported,
                  "a graph with conditional nodes can be neither cloned nor another's child");
  auto made = std::make_unique<Graph>();
  made->objects = graph.objects;
  std::map<const GraphNode*, GraphNode*> copies;
  for (const GraphNode* node : in_order(graph)) {
    std::vector<GraphNode*> dependencies;
    for (const GraphNode* dependency : node->dependencies) dependencies.push_back(copies.at(dependency));
    GraphNode* const copy = copies[node] = made->add(node->type, node->work, std::move(dependencies));
    copy->original = node, copy->attributes = node->attributes;
    if (node->child) copy->child = std::make_shared<ChildGraph>(graph_of(node->child->handle));
  }
  return made;
}

Graph& graph_of(cudaGraph_t handle) {
  GraphTable& table = GraphTable::get();
  std::lock_guard lock(table.mutex);
  return table.graph(handle);
}

} // namespace warpfold::runtime

using namespace warpfold::runtime;

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return entry("cudaGraphCreate", [&] {
    if (!graph || flags != 0) return cudaErrorInvalidValue;
    *graph = keep(std::make_unique<Graph>());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return with_table("cudaGraphDestroy", [&](GraphTable& table) {
    discard(&table.graph(graph));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return with_table("cudaGraphClone", [&](GraphTable& table) {
    if (!clone) return cudaErrorInvalidValue;
    *clone = keep(copy_of(table.graph(original)));
    return cudaSuccess;
  });
}

#if CUDART_VERSION >= 12000
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return instantiate("cudaGraphInstantiate", executable, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  if (!parameters) return remember(cudaErrorInvalidValue);
  const cudaError_t error =
      instantiate("cudaGraphInstantiateWithParams", executable, graph, parameters->flags);
  parameters->errNode_out = nullptr;
  parameters->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return error;
}

// Takes over the other graph's work if both have the same nodes in the same order.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  return with_table("cudaGraphExecUpdate", [&](GraphTable& table) {
    ExecutableGraph& executable = table.executable(handle);
    auto steps = steps_of(table.graph(graph));
    const bool same = std::equal(steps.begin(), steps.end(), executable.steps.begin(), executable.steps.end(),
                                 [](const auto& one, const auto& other) { return one.type == other.type; });
    if (info)
      *info = {same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged, nullptr, nullptr};
    if (!same) return cudaErrorGraphExecUpdateFailure;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      executable.steps[i].work = std::move(steps[i].work);
      executable.steps[i].inner = std::move(steps[i].inner);
    }
    return cudaSuccess;
  });
}
#endif

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  return instantiate("cudaGraphInstantiateWithFlags", executable, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream) {
  return entry("cudaGraphLaunch", [&] {
    std::vector<ExecutableGraph::Step> steps;
    std::vector<unsigned long long> conditions;
    std::shared_ptr<Event> last;
    UserObjects objects;
    GraphTable& table = GraphTable::get();
    {
      std::lock_guard lock(table.mutex);
      ExecutableGraph& executable = table.executable(handle);
      steps = executable.steps, conditions = executable.conditions, last = executable.last_launch;
      objects = executable.objects;
      for (const auto& step : steps)
        if (step.type == cudaGraphNodeTypeMemAlloc)
          step.memory->launch(executable.flags & cudaGraphInstantiateFlagAutoFreeOnLaunch);
    }
    EventNodes events;
    events.prepare(steps, stream);
    const cudaError_t error = submit_in_turn(
        last, stream, cudaGraphNodeTypeGraph,
        [steps = std::move(steps), conditions = std::move(conditions), objects = std::move(objects)] {
          for (const auto handle : conditions) restore_condition(handle);
          return run_steps(steps);
        });
    if (error == cudaSuccess) events.record(stream);
    std::lock_guard lock(table.mutex);
    if (const auto found = table.executables.find(handle); found != table.executables.end())
      found->second->last_launch = std::move(last);
    return error;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream) {
  return with_table("cudaGraphUpload", [&](GraphTable& table) {
    table.executable(handle);
    check_stream(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return with_table("cudaGraphExecDestroy", [&](GraphTable& table) {
    table.executable(handle);
    table.executables.erase(handle);
    return cudaSuccess;
  });
}
}
