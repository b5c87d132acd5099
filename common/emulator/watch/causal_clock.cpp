#include "causal_clock.hpp"

#include <algorithm>
#include <utility>

namespace warpfold::watch {

struct CausalClock::Node {
  Key key;
  std::uint32_t moment = 0, priority = 0;
  Tree left, right;
};

namespace {

// Spreads the keys evenly, so that the tree is balanced (the finaliser of SplitMix64).
std::uint32_t priority_of(const CausalClock::Key& key) {
  std::uint64_t x = key.who + key.operation * 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return static_cast<std::uint32_t>(x >> 32);
}

} // namespace

CausalClock::Tree CausalClock::make(const Node& like, std::uint32_t moment, Tree left, Tree right) {
  return std::make_shared<const Node>(
      Node{like.key, moment, like.priority, std::move(left), std::move(right)});
}

// What is less than the key and what is greater, and the moment at the key itself.
void CausalClock::split(const Tree& tree, const Key& key, Tree& left, std::uint32_t& moment, Tree& right) {
  if (!tree) {
    left = right = nullptr;
  } else if (tree->key == key) {
    left = tree->left, right = tree->right, moment = tree->moment;
  } else if (tree->key < key) {
    Tree middle;
    split(tree->right, key, middle, moment, right);
    left = middle == tree->right ? tree : make(*tree, tree->moment, tree->left, middle);
  } else {
    Tree middle;
    split(tree->left, key, left, moment, middle);
    right = middle == tree->left ? tree : make(*tree, tree->moment, middle, tree->right);
  }
}

CausalClock::Tree CausalClock::joined(const Tree& one, const Tree& other) {
  if (one == other || !other) return one;
  if (!one) return other;
  const bool other_first = std::pair(other->priority, other->key) > std::pair(one->priority, one->key);
  const Tree &above = other_first ? other : one, &below = other_first ? one : other;
  Tree left, right;
  std::uint32_t moment = 0;
  split(below, above->key, left, moment, right);
  left = joined(above->left, left);
  right = joined(above->right, right);
  const std::uint32_t latest = std::max(moment, above->moment);
  for (const Tree* same : {&above, &below})
    if ((*same)->key == above->key && (*same)->moment == latest && (*same)->left == left &&
        (*same)->right == right)
      return *same;
  return make(*above, latest, std::move(left), std::move(right));
}

void CausalClock::raise(Key key, std::uint32_t moment) {
  if (moment == 0) return;
  const Node alone{key, moment, priority_of(key), nullptr, nullptr};
  root_ = joined(root_, std::make_shared<const Node>(alone));
}

void CausalClock::join(const CausalClock& other) {
  root_ = joined(root_, other.root_);
}

std::uint32_t CausalClock::at(Key key) const {
  const Node* node = root_.get();
  while (node && node->key != key) node = key < node->key ? node->left.get() : node->right.get();
  return node ? node->moment : 0;
}

bool CausalClock::covers(const AccessRecord& access, unsigned lane) const {
  if (!root_) return false;
  const auto covered = [&](Key key) {
    return access.moment < at(key) || access.moment < at(key.by(access.operation));
  };
  return access.moment < at(Key::of_block(access.block)) ||
         covered(Key::of_thread(access.block, access.warp, every_lane)) ||
         (lane != every_lane && covered(Key::of_thread(access.block, access.warp, lane)));
}

} // namespace warpfold::watch
