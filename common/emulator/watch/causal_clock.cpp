#include "causal_clock.hpp"

#include <algorithm>
#include <utility>

namespace warpfold::watch {

struct CausalClock::Node {
  OfBlock entries;
  std::uint32_t block = 0, priority = 0;
  // Of the node's entries, and of all in its subtree: a sum, so that their order does not matter.
  std::uint64_t own_hash = 0, hash = 0;
  Tree left, right;
};

namespace {

using Key = CausalClock::Key;

// SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

Key of_every_lane(Key key) {
  constexpr std::uint64_t lane_bits = 63;
  return {(key.who & ~lane_bits) | CausalClock::every_lane};
}

} // namespace

std::uint32_t CausalClock::at(const Entries& entries, Key key) {
  const auto found = std::ranges::lower_bound(entries, key, {}, &Entry::key);
  return found != entries.end() && found->key == key ? found->moment : 0;
}

void CausalClock::drop_covered(Entries& entries) {
  const std::uint32_t block = entries.front().key.block();
  const std::uint32_t of_block = at(entries, Key::of_block(block));
  Entry of_thread; // by any operation
  std::size_t kept = 0;
  for (const Entry each : entries) { // entries are moved forward only, so what follows can still be looked up
    std::uint32_t covered = 0;
    if (each.key < Key::of_launch(block)) {
      covered = of_block;
      if (const Key warp = of_every_lane(each.key); each.key.who != warp.who)
        covered = std::max(covered, at(entries, warp));
      if (each.key.operation == 0)
        of_thread = each;
      else if (of_thread.key.who == each.key.who)
        covered = std::max(covered, of_thread.moment);
    }
    if (each.moment > covered) entries[kept++] = each;
  }
  entries.resize(kept);
}

CausalClock::OfBlock CausalClock::joined(const OfBlock& one, const OfBlock& other) {
  thread_local Entries both;
  both.clear();
  auto mine = one->begin(), theirs = other->begin();
  while (mine != one->end() || theirs != other->end()) {
    if (theirs == other->end() || (mine != one->end() && mine->key < theirs->key)) {
      both.push_back(*mine++);
    } else if (mine == one->end() || theirs->key < mine->key) {
      both.push_back(*theirs++);
    } else {
      both.push_back(mine->moment > theirs->moment ? *mine : *theirs);
      ++mine, ++theirs;
    }
  }
  drop_covered(both);
  return both == *one ? one : both == *other ? other : std::make_shared<const Entries>(both);
}

CausalClock::Tree CausalClock::make(const Node& like, Tree left, Tree right) {
  std::uint64_t hash = like.own_hash;
  for (const Tree* below : {&left, &right})
    if (*below) hash += (*below)->hash;
  return std::make_shared<const Node>(
      Node{like.entries, like.block, like.priority, like.own_hash, hash, std::move(left), std::move(right)});
}

CausalClock::Node CausalClock::node_of(OfBlock entries) {
  const std::uint32_t block = entries->front().key.block();
  std::uint64_t hash = 0;
  for (const Entry& each : *entries)
    hash +=
        mixed(each.key.who * 0xd6e8feb86659fd93ull ^ (std::uint64_t{each.key.operation} << 32 | each.moment));
  // The priority spreads the blocks evenly, so that the tree is balanced.
  return {std::move(entries), block, static_cast<std::uint32_t>(mixed(block)), hash, hash, nullptr, nullptr};
}

// What is of blocks before this one, of this one, and of those after it.
void CausalClock::split(const Tree& tree, std::uint32_t block, Tree& left, Tree& same, Tree& right) {
  if (!tree) {
    left = same = right = nullptr;
  } else if (tree->block == block) {
    left = tree->left, same = tree, right = tree->right;
  } else if (tree->block < block) {
    Tree middle;
    split(tree->right, block, middle, same, right);
    left = middle == tree->right ? tree : make(*tree, tree->left, middle);
  } else {
    Tree middle;
    split(tree->left, block, left, same, middle);
    right = middle == tree->left ? tree : make(*tree, middle, tree->right);
  }
}

const CausalClock::Tree* CausalClock::larger(const Tree& one, const Tree& other) {
  if (one == other || !other) return &one;
  if (!one) return &other;
  return one->hash == other->hash ? &one : nullptr; // the same entries, joined in another order
}

CausalClock::Tree CausalClock::joined(const Tree& one, const Tree& other) {
  if (const Tree* const known = larger(one, other)) return *known;
  const bool other_first = std::pair(other->priority, other->block) > std::pair(one->priority, one->block);
  const Tree &above = other_first ? other : one, &below = other_first ? one : other;
  // Trees of the same blocks have the same shape. Then nothing is split, and a copy of a pointer, which
  // counts its users, is made only where something differs.
  Tree parts[3], joined_left, joined_right;
  const bool same_block = above->block == below->block;
  if (!same_block) split(below, above->block, parts[0], parts[1], parts[2]);
  const Tree &left_below = same_block ? below->left : parts[0], &same = same_block ? below : parts[1],
             &right_below = same_block ? below->right : parts[2];
  const Tree *left = larger(above->left, left_below), *right = larger(above->right, right_below);
  if (!left) joined_left = joined(above->left, left_below), left = &joined_left;
  if (!right) joined_right = joined(above->right, right_below), right = &joined_right;
  OfBlock joined_entries;
  const OfBlock* entries = &above->entries;
  if (same && same->own_hash != above->own_hash)
    joined_entries = joined(above->entries, same->entries), entries = &joined_entries;
  for (const Tree* each : {&above, &below})
    if ((*each)->entries == *entries && (*each)->left == *left && (*each)->right == *right) return *each;
  return make(*entries == above->entries          ? *above
              : same && *entries == same->entries ? *same
                                                  : node_of(*entries),
              *left, *right);
}

CausalClock CausalClock::of_one_block(Entries entries) {
  CausalClock clock;
  drop_covered(entries);
  if (!entries.empty())
    clock.root_ = std::make_shared<const Node>(node_of(std::make_shared<const Entries>(std::move(entries))));
  return clock;
}

void CausalClock::raise(Key key, std::uint32_t moment) {
  join(of_one_block({{key, moment}}));
}

void CausalClock::join(const CausalClock& other) {
  root_ = joined(root_, other.root_);
}

const CausalClock::Entries* CausalClock::find(std::uint32_t block) const {
  const Node* node = root_.get();
  while (node && node->block != block) node = block < node->block ? node->left.get() : node->right.get();
  return node ? node->entries.get() : nullptr;
}

std::uint32_t CausalClock::at(Key key) const {
  const Entries* const entries = find(key.block());
  return entries ? at(*entries, key) : 0;
}

bool CausalClock::covers(const AccessRecord& access, unsigned lane) const {
  const Entries* const entries = find(access.block);
  if (!entries) return false;
  const auto covered = [&](Key key) {
    return access.moment < at(*entries, key) || access.moment < at(*entries, key.by(access.operation));
  };
  return access.moment < at(*entries, Key::of_block(access.block)) ||
         covered(Key::of_thread(access.block, access.warp, every_lane)) ||
         (lane != every_lane && covered(Key::of_thread(access.block, access.warp, lane)));
}

} // namespace warpfold::watch
