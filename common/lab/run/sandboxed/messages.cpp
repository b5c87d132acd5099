#include "run/sandboxed/messages.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>

namespace lab::grading {
namespace {

constexpr std::uint64_t longest = 256 << 20; // bytes

// `move(at, left)`: as send() and recv().
template <class Byte, class Move>
bool move_all(Byte* at, std::size_t left, Move move) {
  while (left > 0) {
    const ssize_t moved = move(at, left);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    at += moved, left -= static_cast<std::size_t>(moved);
  }
  return true;
}

bool send_all(int socket, const void* from, std::size_t bytes) {
  return move_all(
      static_cast<const std::byte*>(from), bytes,
      [socket](const std::byte* at, std::size_t left) { return ::send(socket, at, left, MSG_NOSIGNAL); });
}

bool receive_all(int socket, void* to, std::size_t bytes) {
  return move_all(static_cast<std::byte*>(to), bytes,
                  [socket](std::byte* at, std::size_t left) { return ::recv(socket, at, left, 0); });
}

} // namespace

bool Message::send(int socket) const {
  const std::uint64_t length = bytes_.size();
  return send_all(socket, &length, sizeof length) && send_all(socket, bytes_.data(), bytes_.size());
}

std::optional<Message> Message::receive(int socket) {
  std::uint64_t length = 0;
  if (!receive_all(socket, &length, sizeof length) || length > longest) return std::nullopt;
  std::vector<std::byte> bytes(length);
  if (!receive_all(socket, bytes.data(), bytes.size())) return std::nullopt;
  return Message(std::move(bytes));
}

void Message::append(const void* bytes, std::size_t count) {
  const auto* first = static_cast<const std::byte*>(bytes);
  bytes_.insert(bytes_.end(), first, first + count);
}

const std::byte* Message::next(std::uint64_t count) {
  if (count > bytes_.size() - at_)
    throw std::runtime_error("a message between the grader's processes is cut off");
  const std::byte* first = bytes_.data() + at_;
  at_ += count;
  return first;
}

void Message::take_into(void* to, std::size_t count) {
  std::memcpy(to, next(count), count);
}

std::vector<std::byte> Message::take_bytes() {
  const auto count = take<std::uint64_t>();
  const std::byte* first = next(count);
  return {first, first + count};
}

std::string Message::take_text() {
  const std::vector<std::byte> bytes = take_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace lab::grading
