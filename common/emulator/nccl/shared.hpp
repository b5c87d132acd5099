// What the ranks of a communicator share: a segment of memory that each of them maps, whether they are
// threads of one process or processes. It begins as zeros, which is the state before any rank has come.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace warpfold::nccl {

constexpr int most_ranks = 64;
constexpr std::uint64_t calls_kept = 64; // how far a rank may be ahead of another, in collectives

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

enum class Kind : std::uint32_t {
  none,
  reduce,
  all_reduce,
  broadcast,
  reduce_scatter,
  all_gather,
  gather,
  scatter,
  all_to_all,
  split,
  send,
  receive
};

struct SharedFrame {
  std::uint64_t address = 0;
  std::uint64_t module = 0; // in the rank's own list
};

// Kinds of collectives in which one rank is the root.
constexpr bool has_root(Kind kind) {
  return kind == Kind::reduce || kind == Kind::broadcast || kind == Kind::gather || kind == Kind::scatter;
}
// In which what a rank sends is a share for each rank.
constexpr bool sends_shares(Kind kind) {
  return kind == Kind::reduce_scatter || kind == Kind::scatter || kind == Kind::all_to_all;
}
// In which what a rank receives is a share from each rank.
constexpr bool receives_shares(Kind kind) {
  return kind == Kind::all_gather || kind == Kind::gather || kind == Kind::all_to_all;
}
// In which only the root sends, or only the root receives.
constexpr bool only_root_sends(Kind kind) {
  return kind == Kind::broadcast || kind == Kind::scatter;
}
constexpr bool only_root_receives(Kind kind) {
  return kind == Kind::reduce || kind == Kind::gather;
}

// What a rank called, with which arguments (-1 where the function has no such argument), and from where.
struct Call {
  Kind kind = Kind::none;
  std::int32_t type = -1, op = -1;
  std::int32_t peer = -1; // or the root; of a split, the colour
  std::int32_t key = 0;   // of a split
  std::uint64_t count = 0;
  std::uint64_t frame_count = 0;
  SharedFrame frames[6] = {};
};

// A call that its rank may replace while another reads it: a version that is odd, or changes, says so.
struct NotedCall {
  std::atomic<std::uint32_t> version;
  Call call;
};

// Collectives are numbered in two sequences, since it is open when a graph is launched: those that a rank
// calls, as it calls them, and those in graphs, as they are carried out.
enum class Sequence : std::uint32_t { called, in_graphs };
constexpr std::size_t sequences = 2;

struct Calls {
  std::atomic<std::uint64_t> issued;   // collectives that this rank has called
  std::atomic<std::uint64_t> finished; // of these, how many are done
  Call kept[calls_kept];               // collective n at n % calls_kept

  const Call& number(std::uint64_t n) const { return kept[n % calls_kept]; }
};

enum class Presence : std::uint32_t { absent, arriving, here, left };

struct Rank {
  std::atomic<std::uint32_t> presence;
  std::int32_t pid;
  std::uint64_t pid_namespace; // pids of another one mean nothing here
  std::int32_t device, devices_seen;
  char bus_address[32];

  Calls calls[sequences];
  Calls& of(Sequence sequence) { return calls[static_cast<std::size_t>(sequence)]; }
  std::atomic<std::uint64_t> put;   // pieces of data that lie in its slots
  std::atomic<std::uint64_t> taken; // pieces of all ranks that it has read

  NotedCall arrival; // only its site is of use, as of `leave`
  NotedCall leave;
  NotedCall last;
  NotedCall in_group; // called after ncclGroupStart, and not yet issued
  std::atomic<std::uint32_t> calls_in_group;

  std::atomic<std::uint32_t> module_count;
  char modules[12][384];
};

// Of sends from one rank to another: one piece at a time.
struct Channel {
  std::atomic<std::uint64_t> sends_issued, receives_issued;
  std::atomic<std::uint64_t> put, taken; // pieces
  Call send, receive;                    // those whose pieces are under way
};

struct Shared {
  std::atomic<std::uint32_t> size;       // ranks, as the first to come said
  std::atomic<std::uint32_t> bell;       // a futex: rings after each change
  std::atomic<std::uint32_t> has_failed; // 0, 1 while the text is being written, 2
  std::int32_t result;
  char text[6000];
};

} // namespace warpfold::nccl
