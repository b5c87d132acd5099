// The messages between the two halves of a lab program when a class is graded.
//
// The student's host code runs in a sandbox, linked to common/classroom/recorder in place of the lab library
// and of the CUDA runtime: it receives which rung to run on what, and answers with what it would have done to
// a device. The trusted half, the lab library in its own process, does that on the emulator
// (host_process.hpp) and judges the result. What the student's half sends is never more than a request: it is
// checked here like input from a stranger, and none of it is believed.
//
// A message is one packet of a SOCK_SEQPACKET socket: a fixed header, then `bytes` bytes whose meaning
// depends on the kind.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lab::grading {

constexpr std::uint32_t protocol_version = 2;
constexpr std::size_t largest_payload = 48 * 1024; // longer copies travel in pieces

enum class Say : std::uint32_t {
  // From the trusted half.
  invoke = 1, // Invoke: run this rung
  answer,     // to a question below: `value`, and for `read` and `kernel` a payload
  // From the student's half.
  ready,   // value: protocol_version
  done,    // the host function has returned
  kernel,  // question; payload: a kernel's mangled name. Answer: how many parameters, and their sizes (u32)
  launch,  // Launch, then the name of the kernel, then its parameters one after the other
  set,     // Move, `value` is the byte
  upload,  // Move; payload: what to write to `to`
  copy,    // Move: `width` x `height` bytes from `from` to `to`
  read,    // question; Move: bytes at `from`. Answer: the bytes
  scratch, // question; value: bytes. Answer: the address
  allocate,
  release,      // value: an address
  shared_limit, // value: bytes of dynamic shared memory that a kernel may use; payload: its name
  clusters,     // value: whether a kernel may run in clusters of more than 8 blocks; payload: its name
  occupancy,    // question; Occupancy, then a kernel's name. Answer: blocks on a multiprocessor
  refused,      // the host function called what the recorder does not know; payload: its name
};

struct Head {
  std::uint32_t kind = 0, bytes = 0; // bytes: of the payload that follows
  std::uint64_t value = 0;
};

struct Invoke {
  std::uint32_t rung = 0, variant = 0, block = 0, multiprocessors = 0, threads_per_multiprocessor = 0,
                capability = 0;
  std::uint64_t input = 0, result = 0, n = 0, rows = 0;
};

struct Launch {
  std::uint32_t grid[3] = {}, block[3] = {}, cluster[3] = {1, 1, 1};
  std::uint32_t shared = 0, cooperative = 0, name_bytes = 0, parameter_bytes = 0;
};

struct Occupancy {
  std::uint32_t threads = 0, name_bytes = 0;
  std::uint64_t shared = 0;
};

struct Move {
  std::uint64_t to = 0, from = 0, to_pitch = 0, from_pitch = 0, width = 0, height = 1;
};

constexpr std::size_t largest_packet = sizeof(Head) + largest_payload;

} // namespace lab::grading
