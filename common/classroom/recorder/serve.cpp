// lab::main() of a student's program in the class's sandbox: runs the host functions that it is asked to, on
// addresses that mean something only to the other half, until that half hangs up.
#include "channel.hpp"
#include "lab.hpp"
#include "promises/rung.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace lab {
namespace grading {
namespace {

constexpr int channel = STDIN_FILENO; // where the sandbox puts the socket
Invoke the_invocation;

} // namespace

void send(Say kind, std::uint64_t value, const void* payload, std::size_t bytes, const void* more,
          std::size_t more_bytes, const void* rest, std::size_t rest_bytes) {
  Head head{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(bytes + more_bytes + rest_bytes),
            value};
  iovec parts[] = {{&head, sizeof head},
                   {const_cast<void*>(payload), bytes},
                   {const_cast<void*>(more), more_bytes},
                   {const_cast<void*>(rest), rest_bytes}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 4;
  while (sendmsg(channel, &message, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) _exit(3);
}

Message receive() {
  Message message;
  message.payload.resize(largest_payload);
  iovec parts[] = {{&message.head, sizeof message.head}, {message.payload.data(), message.payload.size()}};
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = 2;
  ssize_t got = 0;
  while ((got = recvmsg(channel, &header, 0)) < 0)
    if (errno != EINTR) _exit(3);
  if (got == 0) _exit(0); // the other half has hung up: all is done
  if (static_cast<std::size_t>(got) != sizeof message.head + message.head.bytes) _exit(3);
  message.payload.resize(message.head.bytes);
  return message;
}

Message ask(Say kind, std::uint64_t value, const void* payload, std::size_t bytes) {
  send(kind, value, payload, bytes);
  return receive();
}

const Invoke& invoked() {
  return the_invocation;
}

} // namespace grading

unsigned multiprocessors() {
  return grading::the_invocation.multiprocessors;
}

unsigned resident_blocks(unsigned block) {
  const grading::Invoke& invocation = grading::the_invocation;
  return block == 0 ? 0 : invocation.multiprocessors * (invocation.threads_per_multiprocessor / block);
}

void* scratch_bytes(std::size_t bytes) {
  return reinterpret_cast<void*>(grading::ask(grading::Say::scratch, bytes).head.value);
}

namespace {

// `rungs`: with the host functions as variants.
template <class Rungs>
int serve(const Rungs& rungs) {
  using namespace grading;
  send(Say::ready, protocol_version);
  for (;;) {
    const Message message = receive();
    if (message.head.kind != static_cast<std::uint32_t>(Say::invoke) ||
        message.payload.size() != sizeof(Invoke))
      return 3;
    std::memcpy(&the_invocation, message.payload.data(), sizeof the_invocation);
    const Invoke& invocation = the_invocation;
    if (invocation.rung >= rungs.size() || invocation.variant >= Implementation::max_variants) return 3;
    const Variant& variant = rungs.begin()[invocation.rung].variants[invocation.variant];
    if (!variant.function) return 3;
    variant.invoke(variant.function,
                   {reinterpret_cast<void*>(invocation.input), reinterpret_cast<void*>(invocation.result),
                    invocation.n, invocation.rows, invocation.block});
    send(Say::done, 0);
  }
}

} // namespace

int main(int, char**, std::initializer_list<Implementation> rungs, const char*) {
  return serve(rungs);
}

// Not of a lab but of tests, whose rungs bring their promises along.
int main(int, char**, std::initializer_list<Rung> rungs, const char*) {
  return serve(rungs);
}

} // namespace lab
