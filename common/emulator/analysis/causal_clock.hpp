// A vector clock: for each thread that released something, up to which moment of its block's clock what it
// did comes before. It is a set of accesses, and joining two is their union.
//
// A treap with a node for each block. Nodes never change, so that clocks share what they have in common, and
// copying one costs nothing. A node's priority follows from the block, so equal sets have equal trees, and
// joining walks only over what differs.
#pragma once

#include "access_records.hpp"
#include "immutable.hpp"

#include <compare>
#include <cstdint>
#include <vector>

namespace warpfold::analysis {

class CausalClock {
public:
  static constexpr unsigned every_lane = 32;

  // Whose accesses an entry covers.
  struct Key {
    std::uint64_t who = 0;
    std::uint32_t operation = 0; // of the one with this index + 1 alone; 0: of any
    auto operator<=>(const Key&) const = default;

    static Key of_block(std::uint32_t block) { return {std::uint64_t{block} << 16 | 0xffff}; }
    static Key of_launch(std::uint32_t first_block) { return {std::uint64_t{first_block} << 16 | 0xfffe}; }
    // `lane`: or every_lane.
    static Key of_thread(std::uint32_t block, unsigned warp, unsigned lane) {
      return {std::uint64_t{block} << 16 | warp << 6 | lane};
    }
    Key by(std::uint32_t index) const { return {who, index + 1}; }
    std::uint32_t block() const { return static_cast<std::uint32_t>(who >> 16); }
  };

  // Covers the accesses before this moment, too.
  void raise(Key key, std::uint32_t moment);
  void join(const CausalClock& other);
  std::uint32_t at(Key key) const; // 0: nothing is covered, or another key covers as much
  // `lane`: that of the access, or every_lane to ask for all lanes at once.
  bool covers(const AccessRecord& access, unsigned lane) const;
  bool empty() const { return !root_; }
  bool is_same(const CausalClock& other) const { return is_same(root_.get(), other.root_.get()); }

  struct Entry {
    Key key;
    std::uint32_t moment = 0;
    bool operator==(const Entry&) const = default;
  };
  using Entries = std::vector<Entry>; // in the order of their keys
  static CausalClock of_one_block(Entries entries);

  CausalClock();
  CausalClock(const CausalClock&);
  CausalClock(CausalClock&&) noexcept;
  CausalClock& operator=(const CausalClock&);
  CausalClock& operator=(CausalClock&&) noexcept;
  ~CausalClock();

private:
  struct OfBlock; // its entries
  struct Node;
  struct LastJoins;
  using Tree = Kept<Node>;
  static bool is_same(const Node* one, const Node* other);
  // A new one if neither of the two holds all that both do. The clock that keeps it first owns it.
  static const OfBlock* joined(const OfBlock& one, const OfBlock& other);
  static const Node* joined(const Node* one, const Node* other);
  static void split(const Node* tree, std::uint32_t block, Tree& left, Tree& same, Tree& right);
  const Entries* find(std::uint32_t block) const; // null if there are none
  Tree root_;
};

} // namespace warpfold::analysis
