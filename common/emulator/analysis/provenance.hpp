// Where values come from: a graph from the elements of memory that kernels loaded, over every operation that
// combined them, to what was stored. Off unless it is asked for, and then for small launches: each value that
// a lane makes of what was in memory is a node.
//
// A register and a word of memory are the same to it: a *cell*, known by the host address of its first byte.
// Moves, shuffles and copies carry a cell's node on; what computes makes a new node of its operands'. A value
// that comes from no memory at all, such as an index, has none of its own, and only says what it was made of.
#pragma once

#include "machine/block.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace warpfold::analysis {

class Provenance final : public machine::Watcher {
public:
  // With more nodes, the graph says that it is incomplete.
  static constexpr std::size_t most_nodes = 1u << 20;

  explicit Provenance(const machine::AddressSpace& memory) : memory_(memory) {}

  // The graph as JSON, and the nodes of `count` values of `width` bytes each at `results`. Its keys are
  // explained in docs/reference/report.md.
  std::string json(const void* results, std::size_t width, std::size_t count);

  // The host copies, or fills memory with what comes from no kernel.
  void copied(const void* to, const void* from, std::size_t bytes);
  void filled(const void* begin, std::size_t bytes);
  // A library's work on the host, in a call of the program's at "file:line". No operation: a copy.
  struct LibraryCall {
    std::string operation, call, place;
    auto operator<=>(const LibraryCall&) const = default;
  };
  // Each value at `result` is the operation of those with its index at the sources.
  void made(const void* result, std::span<const void* const> sources, std::size_t width, std::size_t count,
            const LibraryCall& by);

  void launch_begin(const machine::Grid&) override;
  void launch_end(const machine::Grid&) override;
  void block_begin(const machine::Block&) override;
  void block_end(const machine::Block&) override;
  void access(const machine::Access&) override;
  void bad_access(const machine::Warp&, const machine::Operation&, const machine::Fault&) override {}
  void fence(const machine::Warp&, const machine::Operation&, machine::MemoryScope) override {}
  void barrier(const machine::Block&, const machine::Operation&, unsigned, bool) override {}
  void warp_barrier(const machine::Warp&, const machine::Operation&, std::uint32_t) override {}
  void notice(const machine::Warp&, const machine::Operation&, machine::Notice, std::uint32_t,
              const machine::Operation*) override {}
  bool follows_values() const override { return true; }
  void about_to_overwrite(const machine::Warp&, const machine::Operation&, std::uint32_t lanes) override;
  void executed(const machine::Warp&, const machine::Operation&, std::uint32_t lanes) override;
  void carried(const machine::Warp&, const std::byte* to, const std::byte* from,
               std::uint32_t bytes) override;

private:
  using NodeId = std::uint32_t;
  // Values that were made of nothing in memory: of constants alone, of what the launch was given as well, or
  // of a thread's own numbers. Nodes have larger numbers.
  enum Bare : NodeId { constant, argument, thread, first_node };

  struct Where { // of an event
    std::uint32_t place = 0, launch = 0, block = 0, thread = 0;
  };
  struct Value {
    NodeId node = constant;
    std::uint64_t bits = 0;
  };
  struct Node {
    // `loaded` from memory that no kernel had written; `host`: copied from the host, which had changed it.
    enum class Kind : std::uint8_t { loaded, host, computed, selected, packed } kind{};
    std::uint8_t width = 0; // bytes
    Where where;
    std::uint64_t bits = 0, address = 0;
    std::uint32_t first_operand = 0, operands = 0;
  };
  struct Cell {
    NodeId node = constant;
    std::uint8_t width = 0; // 0: nothing is known of it
    bool in_memory = false, read = false;
    Where stored; // if it is in memory
  };
  using Page = std::array<Cell, 4096>;
  struct Loss { // what was stored and never read: it was overwritten, or is there to the end
    NodeId node = 0;
    std::string place;
    Where stored;
    bool overwritten = false;
    Where by;
  };
  struct Running { // a launch, whose blocks one worker executes
    std::uint32_t number = 0;
    // By lane, of the operation that is being executed: its sources, if it overwrites one of them, and where
    // an asynchronous copy has read.
    std::array<std::vector<Value>, machine::warp_lanes> before;
    std::array<std::uint64_t, machine::warp_lanes> copied_from{};
  };
  struct HostCopy {             // to the host
    std::uint32_t launches = 0; // before it
    std::vector<Value> values;
  };

  Cell& cell(std::uint64_t address);
  Cell* find(std::uint64_t address);
  std::vector<std::pair<std::uint64_t, Cell*>> cells_in(std::uint64_t begin, std::uint64_t bytes);
  Value read(std::uint64_t address, unsigned width, const Where& where, bool in_memory);
  void write(std::uint64_t address, unsigned width, NodeId node, const Where* stored);
  void clear(const void* begin, std::size_t bytes);
  void overwritten_by_host(const void* begin, std::size_t bytes);
  void carry(std::uint64_t to, std::uint64_t from, std::size_t bytes, const Where& where);
  NodeId add(Node node, const std::vector<Value>& operands);
  NodeId combined(Node::Kind kind, unsigned width, std::uint64_t bits, const std::vector<Value>& operands,
                  const Where& where);
  // `conversion`: what a store does to a value that is wider than its place, as an instruction of its own.
  std::uint32_t place_of(const machine::Code& code, const machine::Operation& operation,
                         std::string_view conversion = "");
  std::uint32_t place_of(const LibraryCall& by);
  Where where(const machine::Warp& warp, const machine::Operation& operation, unsigned lane);
  std::vector<Value> sources(const machine::Warp& warp, const machine::ValueFlow& flow, unsigned lane);
  Value source(const machine::Warp& warp, const machine::ValueFlow::Place& place, unsigned lane);
  NodeId exchanged(const machine::Warp& warp, const machine::ValueFlow& flow, unsigned lane);
  void multiplied(const machine::Warp& warp, const machine::Operation& operation,
                  const std::array<std::vector<Value>, machine::warp_lanes>& given); // by lane
  void load(const machine::Access& access, const machine::ValueFlow& flow, unsigned lane);
  void store(const machine::Access& access, const machine::ValueFlow& flow, unsigned lane);
  void update(const machine::Access& access, const machine::ValueFlow& flow, unsigned lane,
              std::map<std::uint64_t, std::uint64_t>& swapped);
  std::string name_in_memory(std::uint64_t address, unsigned width) const;
  std::string name_of(const machine::Access& access, unsigned lane, unsigned width) const;
  void lose_shared(const machine::Block& block);

  const machine::AddressSpace& memory_;
  std::mutex mutex_; // of all that follows
  std::unordered_map<std::uint64_t, Page> pages_;
  std::vector<Node> nodes_;
  std::vector<Value> operands_;
  std::vector<Loss> losses_;
  std::vector<HostCopy> host_copies_;
  bool complete_ = true;
  std::map<std::tuple<const machine::Code*, std::uint32_t, bool>, std::uint32_t> place_numbers_;
  std::map<LibraryCall, std::uint32_t> library_places_;
  std::vector<std::string> places_{"[\"\",\"\",0,0,\"\"]"}; // the first is the host
  std::vector<std::string> launches_;
  std::map<const machine::Grid*, Running> running_;
};

} // namespace warpfold::analysis
