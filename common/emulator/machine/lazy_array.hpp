// A very long array of zeros that takes memory only where it was written.
#pragma once

#include <cstddef>
#include <new>
#include <sys/mman.h>

namespace warpfold::machine {

template <typename T>
class LazyArray {
public:
  explicit LazyArray(std::size_t count) : bytes_(count * sizeof(T)) {
    void* range =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(range);
  }
  ~LazyArray() { munmap(data_, bytes_); }
  LazyArray(const LazyArray&) = delete;
  LazyArray& operator=(const LazyArray&) = delete;

  std::size_t size() const { return bytes_ / sizeof(T); }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; } // allocates nothing
  // The same for a part that begins and ends at page boundaries.
  void clear(std::size_t first, std::size_t count) {
    madvise(data_ + first, count * sizeof(T), MADV_DONTNEED);
  }
  void clear() { madvise(data_, bytes_, MADV_DONTNEED); } // zeros again; gives the memory back

private:
  std::size_t bytes_;
  T* data_ = nullptr;
};

} // namespace warpfold::machine
