// Messages between the two processes of a graded lab program (device_process.hpp): numbers and texts, one
// after the other, with their length in front. What is read may come from a process that a stranger has taken
// over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace lab::grading {

class Message {
public:
  Message() = default;
  explicit Message(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  template <class Value>
  Message& put(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    append(&value, sizeof value);
    return *this;
  }
  Message& put(const void* bytes, std::size_t count) {
    put(std::uint64_t{count});
    append(bytes, count);
    return *this;
  }
  Message& put(const std::string& text) { return put(text.data(), text.size()); }

  // These throw std::runtime_error where the message is too short.
  template <class Value>
  Value take() {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value;
    take_into(&value, sizeof value);
    return value;
  }
  std::vector<std::byte> take_bytes();
  std::string take_text();

  // Nothing, or false, if the other process is gone.
  static std::optional<Message> receive(int socket);
  bool send(int socket) const;

private:
  void append(const void* bytes, std::size_t count);
  void take_into(void* to, std::size_t count);
  const std::byte* next(std::uint64_t count);

  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

} // namespace lab::grading
