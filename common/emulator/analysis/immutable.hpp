// What never changes once it is made, and is gone when no pointer to it is left.
//
// std::shared_ptr would do, but it counts whenever it is handed on. Here the count is in the thing itself, so
// that a walk over trees can use plain pointers, and count only what it keeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace warpfold::analysis {

class Immutable {
protected:
  Immutable() = default;
  Immutable(const Immutable&) {} // a copy has users of its own
  Immutable& operator=(const Immutable&) = delete;
  ~Immutable() = default;

private:
  template <typename T>
  friend class Kept;
  mutable std::atomic<std::uint32_t> users_{0};
};

// Points to a T, which is Immutable, and keeps it. The first to be made from a pointer owns what it points
// to, from `new`.
template <typename T>
class Kept {
public:
  Kept() = default;
  explicit Kept(const T* to) : to_(to) { enter(); }
  Kept(const Kept& other) : to_(other.to_) { enter(); }
  Kept(Kept&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
  Kept& operator=(Kept other) noexcept {
    std::swap(to_, other.to_);
    return *this;
  }
  ~Kept() {
    if (to_ && to_->users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete to_;
  }
  const T* get() const { return to_; }
  const T* operator->() const { return to_; }
  const T& operator*() const { return *to_; }
  explicit operator bool() const { return to_; }

private:
  void enter() {
    if (to_) to_->users_.fetch_add(1, std::memory_order_relaxed);
  }
  const T* to_ = nullptr;
};

} // namespace warpfold::analysis
