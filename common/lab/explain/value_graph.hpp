// Where the values of a run came from, as the emulator followed them
// (common/emulator/analysis/provenance.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

// A value that was made of nothing in memory has one of the first numbers instead of a node.
enum BareValue : std::uint32_t { of_constants, of_arguments, of_thread_numbers, first_node };

struct ValueGraph {
  struct Where { // of an event
    std::uint32_t place = 0, launch = 0, block = 0, thread = 0;
  };
  struct Operand {
    std::uint32_t node = 0;
    std::uint64_t bits = 0;
  };
  struct Node {
    // `loaded` from memory that no kernel had written; `host`: the host had changed it.
    enum class Kind { loaded, host, computed, selected, packed } kind{};
    unsigned width = 0; // bytes
    Where where;
    std::uint64_t bits = 0;    // the value; unknown of an atomic operation
    std::uint64_t address = 0; // if it was loaded
    std::uint32_t first_operand = 0, operands = 0;
  };
  struct Place {
    std::string operation; // "add.f32"
    unsigned line = 0;
    unsigned call_line = 0; // of inlined code: the line that calls it; else 0
    std::string call;       // of a library, which did it on the host: "ncclAllReduce(...)"
  };
  struct Launch {
    std::uint64_t blocks = 0, threads = 0; // threads per block
    int device = 0;
    bool one_dimension = false;           // of the grid and of its blocks
    std::vector<unsigned> lines_of_loads; // from global memory, in the kernel's code
  };
  struct Loss { // of what was stored and never read
    std::uint32_t node = 0;
    std::string place; // "partial[3]"
    Where stored, by;
    bool overwritten = false; // `by`; otherwise it is there to the end
  };
  struct HostCopy { // to the host
    std::vector<Operand> values;
  };

  bool complete = false;
  std::vector<std::uint32_t> roots; // of the results
  std::vector<Node> nodes;
  std::vector<Operand> operands;
  std::vector<Place> places;
  std::vector<Launch> launches;
  std::vector<Loss> losses;
  std::vector<HostCopy> host_copies;

  static bool is_bare(std::uint32_t node) { return node < first_node; }
  const Node& node(std::uint32_t number) const { return nodes[number - first_node]; }
  std::uint32_t end() const { return first_node + static_cast<std::uint32_t>(nodes.size()); }
  std::span<const Operand> operands_of(const Node& of) const {
    return std::span(operands).subspan(of.first_operand, of.operands);
  }
  std::string_view operation_of(const Node& of) const { return places[of.where.place].operation; }
  unsigned line(const Where& at) const { return places[at.place].line; }
  const std::string& library_call(const Where& at) const { return places[at.place].call; }
};

using NodeId = std::uint32_t; // or a bare value
using NodeKind = ValueGraph::Node::Kind;
using Where = ValueGraph::Where;

bool is_same_thread(const ValueGraph::Where& one, const ValueGraph::Where& other);

// "in line 35 (called in line 170), ", or nothing if no line is known.
std::string line_in_words(const ValueGraph& graph, const ValueGraph::Where& at);

// "thread 3 of block 1 on device 0": with what there is more than one of. Or a library's call.
std::string thread_in_words(const ValueGraph& graph, const ValueGraph::Where& at, bool several_devices);

// The beginning of a sentence; a library's name stays as it is.
std::string capital(std::string text);

// Of PTX, such as "add.f32" and "cvt.rzi.s32.f32": the type of the operands, and that of the result.
std::string_view operand_type(std::string_view operation);
std::string_view result_type(std::string_view operation);
// How many bits of an integer a conversion between these types keeps; 0: all, or one of the types is none.
unsigned bits_kept(std::string_view of, std::string_view to, std::uint64_t bits);
// The value that the bits have in a type of PTX's, such as "f32".
double number(std::uint64_t bits, std::string_view type);

// Throws std::exception if the text is no graph: it may come from a process that a stranger has taken over.
ValueGraph value_graph_from(const std::string& json);

} // namespace lab
