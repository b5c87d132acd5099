#include "causal_clock.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace warpfold::analysis {
namespace {

using Key = CausalClock::Key;
using Entry = CausalClock::Entry;
using Entries = CausalClock::Entries;

// SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

std::uint64_t hash_of(const Entries& entries) {
  std::uint64_t hash = 0;
  for (const Entry& each : entries)
    hash +=
        mixed(each.key.who * 0xd6e8feb86659fd93ull ^ (std::uint64_t{each.key.operation} << 32 | each.moment));
  return hash;
}

constexpr std::uint64_t lane_bits = 63;

bool is_of_thread(Key key) {
  return key < Key::of_launch(key.block());
}

Key of_every_lane(Key key) {
  return {(key.who & ~lane_bits) | CausalClock::every_lane};
}

std::uint32_t moment_of(const Entries& entries, Key key) {
  const auto found = std::ranges::lower_bound(entries, key, {}, &Entry::key);
  return found != entries.end() && found->key == key ? found->moment : 0;
}

// Is there an entry that covers this one, for all lanes or for all warps?
bool is_covered(const Entries& entries, const Entry& entry) {
  if (!is_of_thread(entry.key)) return false;
  const Entry& last = entries.back();
  if (last.key == Key::of_block(entry.key.block()) && last.moment >= entry.moment) return true;
  const Key warp = of_every_lane(entry.key);
  return entry.key.who != warp.who && moment_of(entries, warp) >= entry.moment;
}

// Drops what others cover. Entries whose moment is 0 cover nothing.
void drop_covered(Entries& entries) {
  if (entries.empty()) return;
  std::array<std::uint32_t, 64> of_warp{}; // by all its lanes and any operation
  std::uint32_t of_block = 0;
  if (const Entry& last = entries.back(); last.key == Key::of_block(last.key.block())) of_block = last.moment;
  const auto warp_of = [](Key key) { return key.who >> 6 & 63; };
  for (const Entry& each : entries)
    if (is_of_thread(each.key) && each.key == of_every_lane(each.key))
      of_warp[warp_of(each.key)] = each.moment;
  Entry of_thread; // by any operation
  std::size_t kept = 0;
  for (const Entry each : entries) {
    std::uint32_t covered = 0;
    if (is_of_thread(each.key)) {
      covered = of_block;
      if (each.key.who != of_every_lane(each.key).who)
        covered = std::max(covered, of_warp[warp_of(each.key)]);
      if (each.key.operation == 0)
        of_thread = each;
      else if (of_thread.key.who == each.key.who)
        covered = std::max(covered, of_thread.moment);
    }
    if (each.moment > covered) entries[kept++] = each;
  }
  entries.resize(kept);
}

// Visits the entries of both by their keys: visit(mine, theirs), either null where only the other has the
// key, until it returns false.
template <typename Visit>
void each_key(const Entries& one, const Entries& other, Visit visit) {
  auto mine = one.begin(), theirs = other.begin();
  while (mine != one.end() || theirs != other.end()) {
    const auto order = mine == one.end()       ? std::strong_ordering::greater
                       : theirs == other.end() ? std::strong_ordering::less
                                               : mine->key <=> theirs->key;
    if (!visit(order <= 0 ? &*mine : nullptr, order >= 0 ? &*theirs : nullptr)) return;
    if (order <= 0) ++mine;
    if (order >= 0) ++theirs;
  }
}

} // namespace

struct CausalClock::OfBlock : Immutable {
  explicit OfBlock(Entries of) : entries(std::move(of)), hash(hash_of(entries)) {}
  const Entries entries;    // of one block; none is covered by the others
  const std::uint64_t hash; // a sum, so that the order does not matter
};

struct CausalClock::Node : Immutable {
  Node(const OfBlock* entries, const Node* before, const Node* after)
      : own(entries), left(before), right(after), block(entries->entries.front().key.block()),
        priority(static_cast<std::uint32_t>(mixed(block))),
        hash(entries->hash + (before ? before->hash : 0) + (after ? after->hash : 0)) {}
  const Kept<OfBlock> own;
  const Tree left, right;
  const std::uint32_t block, priority; // the priority spreads the blocks evenly, so that the tree is balanced
  const std::uint64_t hash;            // of all in its subtree
};

CausalClock::CausalClock() = default;
CausalClock::CausalClock(const CausalClock&) = default;
CausalClock::CausalClock(CausalClock&&) noexcept = default;
CausalClock& CausalClock::operator=(const CausalClock&) = default;
CausalClock& CausalClock::operator=(CausalClock&&) noexcept = default;
CausalClock::~CausalClock() = default;

const CausalClock::OfBlock* CausalClock::joined(const OfBlock& one, const OfBlock& other) {
  bool one_holds_all = true, other_holds_all = true;
  Entry my_thread, their_thread; // the last by any operation: those by single ones follow it
  each_key(one.entries, other.entries, [&](const Entry* mine, const Entry* theirs) {
    if (mine && mine->key.operation == 0) my_thread = *mine;
    if (theirs && theirs->key.operation == 0) their_thread = *theirs;
    const std::uint32_t my_moment = mine ? mine->moment : 0, their_moment = theirs ? theirs->moment : 0;
    const auto covers = [](const Entry& thread, const Entry& entry) {
      return thread.key.who == entry.key.who && thread.moment >= entry.moment;
    };
    if (my_moment < their_moment && one_holds_all)
      one_holds_all = covers(my_thread, *theirs) || is_covered(one.entries, *theirs);
    if (their_moment < my_moment && other_holds_all)
      other_holds_all = covers(their_thread, *mine) || is_covered(other.entries, *mine);
    return one_holds_all || other_holds_all;
  });
  if (one_holds_all) return &one;
  if (other_holds_all) return &other;
  Entries both;
  both.reserve(one.entries.size() + other.entries.size());
  each_key(one.entries, other.entries, [&](const Entry* mine, const Entry* theirs) {
    both.push_back(!theirs || (mine && mine->moment > theirs->moment) ? *mine : *theirs);
    return true;
  });
  drop_covered(both);
  return new OfBlock(std::move(both));
}

// What is of blocks before this one, of this one, and of those after it.
void CausalClock::split(const Node* tree, std::uint32_t block, Tree& left, Tree& same, Tree& right) {
  if (!tree) return;
  if (tree->block == block) {
    left = tree->left, same = Tree(tree), right = tree->right;
  } else if (tree->block < block) {
    Tree middle;
    split(tree->right.get(), block, middle, same, right);
    left = middle.get() == tree->right.get()
               ? Tree(tree)
               : Tree(new Node(tree->own.get(), tree->left.get(), middle.get()));
  } else {
    Tree middle;
    split(tree->left.get(), block, left, same, middle);
    right = middle.get() == tree->left.get()
                ? Tree(tree)
                : Tree(new Node(tree->own.get(), middle.get(), tree->right.get()));
  }
}

// The same entries may have been joined in another order.
bool CausalClock::is_same(const Node* one, const Node* other) {
  return one == other || (one && other && one->hash == other->hash);
}

const CausalClock::Node* CausalClock::joined(const Node* one, const Node* other) {
  if (!other || is_same(one, other)) return one;
  if (!one) return other;
  const bool other_first = std::pair(other->priority, other->block) > std::pair(one->priority, one->block);
  const Node *above = other_first ? other : one, *below = other_first ? one : other;
  // Trees of the same blocks have the same shape. Then nothing is split, and nothing counted but what is new.
  Tree parts[3];
  const bool same_block = above->block == below->block;
  if (!same_block) split(below, above->block, parts[0], parts[1], parts[2]);
  const Node* const same = same_block ? below : parts[1].get();
  const Node* const left = joined(above->left.get(), same_block ? below->left.get() : parts[0].get());
  const Node* const right = joined(above->right.get(), same_block ? below->right.get() : parts[2].get());
  const OfBlock* own = above->own.get();
  if (same && same->own->hash != own->hash) own = joined(*own, *same->own);
  for (const Node* each : {above, below})
    if (each->own->hash == own->hash && is_same(each->left.get(), left) && is_same(each->right.get(), right))
      return each;
  return new Node(own, left, right);
}

CausalClock CausalClock::of_one_block(Entries entries) {
  CausalClock clock;
  drop_covered(entries);
  if (!entries.empty()) clock.root_ = Tree(new Node(new OfBlock(std::move(entries)), nullptr, nullptr));
  return clock;
}

void CausalClock::raise(Key key, std::uint32_t moment) {
  join(of_one_block({{key, moment}}));
}

// The lanes of an operation mostly join what their lanes before them have joined, each for its own address.
// Found again, it is the same tree, so that what follows from it is found at once as well.
struct CausalClock::LastJoins {
  struct Join {
    std::uint64_t one = 0, other = 0; // hashes
    Tree both;
  };
  std::array<Join, 16> joins;
  Join& of(std::uint64_t one, std::uint64_t other) { return joins[(one * 3 ^ other) >> 60]; }
};

void CausalClock::join(const CausalClock& other) {
  const Node *const mine = root_.get(), *const theirs = other.root_.get();
  if (!theirs || is_same(mine, theirs)) return;
  if (!mine) {
    root_ = other.root_;
    return;
  }
  static thread_local LastJoins last;
  LastJoins::Join& same = last.of(mine->hash, theirs->hash);
  if (same.one != mine->hash || same.other != theirs->hash)
    same = {mine->hash, theirs->hash, Tree(joined(mine, theirs))};
  root_ = same.both;
}

const Entries* CausalClock::find(std::uint32_t block) const {
  const Node* node = root_.get();
  while (node && node->block != block) node = block < node->block ? node->left.get() : node->right.get();
  return node ? &node->own->entries : nullptr;
}

std::uint32_t CausalClock::at(Key key) const {
  const Entries* const entries = find(key.block());
  return entries ? moment_of(*entries, key) : 0;
}

bool CausalClock::covers(const AccessRecord& access, unsigned lane) const {
  const Entries* const entries = find(access.block);
  if (!entries) return false;
  const auto covered = [&](Key key) {
    return access.moment < moment_of(*entries, key) ||
           access.moment < moment_of(*entries, key.by(access.operation));
  };
  return access.moment < moment_of(*entries, Key::of_block(access.block)) ||
         covered(Key::of_thread(access.block, access.warp, every_lane)) ||
         (lane != every_lane && covered(Key::of_thread(access.block, access.warp, lane)));
}

} // namespace warpfold::analysis
