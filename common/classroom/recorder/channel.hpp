// The recorder's end of the socket to the trusted half.
#pragma once

#include "run/sandboxed/protocol.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace lab::grading {

struct Message {
  Head head;
  std::vector<std::byte> payload;
};

// Ends the process if the other side is gone: there is no one left to work for.
void send(Say kind, std::uint64_t value, const void* payload = nullptr, std::size_t bytes = 0,
          const void* more = nullptr, std::size_t more_bytes = 0, const void* rest = nullptr,
          std::size_t rest_bytes = 0);
Message receive();
// Sends a question and waits for its answer.
Message ask(Say kind, std::uint64_t value, const void* payload = nullptr, std::size_t bytes = 0);

// What the running rung knows about the device; all 0 before the first.
const Invoke& invoked();

} // namespace lab::grading
