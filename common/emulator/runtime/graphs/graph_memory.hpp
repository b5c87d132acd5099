// Memory that a graph allocates when it runs. Its address is fixed when the node is made; the memory belongs
// to the graph and what is instantiated from it, or, once launched, to the program until it is freed.
#pragma once

#include "runtime/memory/pools.hpp"
#include "runtime/streams/streams.hpp"

#include <cstddef>
#include <memory>
#include <mutex>

namespace warpfold::runtime {

class GraphMemory {
public:
  // Memory of a pool's place. Throws std::bad_alloc.
  static std::shared_ptr<GraphMemory> make(std::size_t size, const PoolPlace& place);
  // Of the graph memory that begins there; null if there is none.
  static std::shared_ptr<GraphMemory> at(const void* begin);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  void* begin() const { return begin_; }
  std::size_t size() const { return size_; }
  int device() const { return device_; }
  // Throws Refusal if a node frees it already.
  void free_in_graph();

  // In the order in which the host issues work: a launch of its graph, and a call of the program that frees
  // it. They throw Refusal if the program still holds it from the launch before, and if it does not hold it.
  void launch(bool frees_itself);
  void give_back();

  // The work of a node that allocates or frees it, or of cudaFreeAsync: nothing in it is written.
  Work renewal() const;

private:
  GraphMemory(void* begin, std::size_t size, int device) : begin_(begin), size_(size), device_(device) {}
  void* begin_;
  std::size_t size_;
  int device_;
  bool freed_in_graph_ = false, held_ = false;
};

// Of a stream that is being captured: adds the node that allocates or frees the memory to its graph.
void capture_memory(cudaStream_t stream, cudaGraphNodeType type, const std::shared_ptr<GraphMemory>& memory);

} // namespace warpfold::runtime
