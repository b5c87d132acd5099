// User objects: what a program lends to graphs, and destroys when no reference is left (CUDA
// Programming Guide, "User Objects").
#pragma once

#include "runtime/cuda_api.hpp"

#include <map>

namespace warpfold::runtime {

// The references that one graph, one executable graph or one launch holds. A copy holds as many again.
class UserObjects {
public:
  UserObjects() = default;
  UserObjects(const UserObjects& other);
  UserObjects(UserObjects&& other) noexcept : counts_(std::move(other.counts_)) { other.counts_.clear(); }
  UserObjects& operator=(UserObjects other) noexcept;
  ~UserObjects();

  // Takes over references that the caller holds.
  void add(cudaUserObject_t object, unsigned count) { counts_[object] += count; }
  // Gives references to the caller. False if it holds fewer.
  bool remove(cudaUserObject_t object, unsigned count);

private:
  std::map<cudaUserObject_t, unsigned> counts_;
};

} // namespace warpfold::runtime
