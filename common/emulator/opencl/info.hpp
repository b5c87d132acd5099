// Answers a clGet...Info call: writes the value if there is room for it, and its size.
#pragma once

#include "failures.hpp"

#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

namespace warpfold::opencl {

class Info {
public:
  Info(std::size_t room, void* where, std::size_t* size) : room_(room), where_(where), size_(size) {}

  void bytes(const void* data, std::size_t count) const {
    require(!where_ || room_ >= count, CL_INVALID_VALUE);
    if (where_ && count) std::memcpy(where_, data, count);
    if (size_) *size_ = count;
  }
  template <typename T>
  void value(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes(&value, sizeof value);
  }
  template <typename T>
  void list(const std::vector<T>& values) const {
    bytes(values.data(), values.size() * sizeof(T));
  }
  void text(std::string_view text) const {
    std::vector<char> with_end(text.begin(), text.end());
    with_end.push_back('\0');
    list(with_end);
  }

private:
  std::size_t room_;
  void* where_;
  std::size_t* size_;
};

} // namespace warpfold::opencl
