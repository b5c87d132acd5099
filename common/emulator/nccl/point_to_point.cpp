// Sends and receives. Those of one group go on together, in rounds: in each, one piece goes every way. A send
// is over when its last piece has been taken, so a send without a receive is noticed however small it is.
#include "arithmetic.hpp"
#include "issue.hpp"
#include "origins.hpp"
#include "telling.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <memory>

namespace warpfold::nccl {
namespace {

constexpr const char* facing = "Let each ncclSend have an ncclRecv on the other rank. Calls that wait for "
                               "each other, as of two ranks that exchange "
                               "data, belong between ncclGroupStart() and ncclGroupEnd().";

// One piece on its way to or from a peer.
struct Piece {
  Call call;
  std::byte* memory = nullptr; // the program's
  std::size_t bytes = 0;
  bool is_first = false;       // of its operation
  std::uint64_t number = 0;    // of all pieces between the two ranks, this way: as they are carried out
  std::uint64_t operation = 0; // likewise, of the sends
};

struct Round {
  std::vector<Piece> sends, receives; // at most one for each peer
};

struct Plan {
  std::vector<Round> rounds;

  void add(std::size_t round, bool is_send, const Piece& piece) {
    if (rounds.size() <= round) rounds.resize(round + 1);
    (is_send ? rounds[round].sends : rounds[round].receives).push_back(piece);
  }
};

Plan plan(const Segment& segment, const std::vector<Request>& requests) {
  Plan plan;
  std::map<std::pair<bool, int>, std::size_t> next_round;
  for (const Request& request : requests) {
    const bool is_send = request.call.kind == Kind::send;
    const std::size_t width = size_of(request.call.type), whole = request.call.count * width;
    const std::size_t largest = segment.channel_bytes() / width * width;
    auto* memory = is_send ? static_cast<std::byte*>(const_cast<void*>(request.send))
                           : static_cast<std::byte*>(request.receive);
    std::size_t at = 0;
    do { // at least one piece, if it be empty
      const std::size_t bytes = std::min(largest, whole - at);
      const Piece piece{.call = request.call, .memory = memory + at, .bytes = bytes, .is_first = at == 0};
      plan.add(next_round[{is_send, request.call.peer}]++, is_send, piece);
      at += bytes;
    } while (at < whole);
  }
  return plan;
}

// The other ends see from now on that these are called.
void announce(ncclComm& comm, const std::vector<Request>& requests) {
  Segment& segment = *comm.segment;
  for (const Request& request : requests) {
    const int peer = request.call.peer;
    if (request.call.kind == Kind::send)
      ++segment.channel(segment.rank(), peer).sends_issued;
    else
      ++segment.channel(peer, segment.rank()).receives_issued;
  }
  segment.ring();
}

// Whoever has the turn numbers its pieces, as they are carried out.
void number(ncclComm& comm, Plan& plan) {
  const auto next = [](Piece& piece, std::uint64_t& pieces, std::uint64_t& operations) {
    if (piece.is_first) ++operations;
    piece.number = ++pieces;
    piece.operation = operations;
  };
  for (Round& round : plan.rounds) {
    for (Piece& piece : round.sends) {
      auto& done = comm.with_peer[piece.call.peer].carried_out;
      next(piece, done.pieces_sent, done.sends);
    }
    for (Piece& piece : round.receives) {
      auto& done = comm.with_peer[piece.call.peer].carried_out;
      next(piece, done.pieces_received, done.receives);
    }
  }
}

bool wait_for_peer(Segment& segment, const Piece& piece, std::atomic<std::uint64_t>& counter,
                   std::uint64_t wanted, std::atomic<std::uint64_t>& issued) {
  return wait_for(segment, {.ranks = {piece.call.peer},
                            .is_there = [&](int) { return counter.load() >= wanted; },
                            .has_called = [&](int) { return issued.load() >= piece.operation; },
                            .own = piece.call,
                            .advice = facing});
}

bool put(Segment& segment, const std::byte* outgoing, const Piece& piece) {
  Channel& channel = segment.channel(segment.rank(), piece.call.peer);
  if (!wait_for_peer(segment, piece, channel.taken, piece.number - 1, channel.receives_issued)) return false;
  if (piece.is_first) channel.send = piece.call;
  std::byte* const slot = segment.channel_slot(segment.rank(), piece.call.peer);
  std::memcpy(slot, outgoing, piece.bytes);
  note_copied(segment, piece.call, slot, outgoing, piece.bytes);
  channel.put.store(piece.number);
  segment.ring();
  return true;
}

bool take(Segment& segment, std::byte* incoming, const Piece& piece) {
  const int from = piece.call.peer;
  Channel& channel = segment.channel(from, segment.rank());
  if (!wait_for_peer(segment, piece, channel.put, piece.number, channel.sends_issued)) return false;
  const Call& sent = channel.send;
  if (piece.is_first && (sent.count != piece.call.count || sent.type != piece.call.type)) {
    fail(segment, ncclInvalidArgument,
         fmt::format("rank {} sends other {} than rank {} receives{}{}\n  try:  Give ncclSend and its "
                     "ncclRecv the same "
                     "count and type.",
                     from, sent.count != piece.call.count ? "counts" : "types", segment.rank(),
                     line_of(segment, from, sent), line_of(segment, segment.rank(), piece.call)));
    return false;
  }
  const std::byte* const slot = segment.channel_slot(from, segment.rank());
  std::memcpy(incoming, slot, piece.bytes);
  note_copied(segment, piece.call, incoming, slot, piece.bytes);
  channel.taken.store(piece.number);
  segment.ring();
  return true;
}

// Whether all that was sent has been received.
bool is_received(ncclComm& comm, const Plan& plan) {
  Segment& segment = *comm.segment;
  std::map<int, Piece> last; // to each peer
  for (const Round& round : plan.rounds)
    for (const Piece& piece : round.sends) last[piece.call.peer] = piece;
  return std::ranges::all_of(last, [&](const auto& item) {
    const auto& [peer, piece] = item;
    Channel& channel = segment.channel(segment.rank(), peer);
    return wait_for_peer(segment, piece, channel.taken, piece.number, channel.receives_issued);
  });
}

bool go_round(ncclComm& comm, const Round& round) {
  Segment& segment = *comm.segment;
  const std::size_t stride = segment.channel_bytes();
  return std::ranges::all_of(round.sends,
                             [&](const Piece& piece) {
                               return put(segment, comm.outgoing + piece.call.peer * stride, piece);
                             }) &&
         std::ranges::all_of(round.receives, [&](const Piece& piece) {
           return take(segment, comm.incoming + piece.call.peer * stride, piece);
         });
}

// All in the stream of the first.
void issue_rounds(const std::vector<Request>& requests) {
  const Request& first = requests.front();
  ncclComm& comm = *first.comm;
  const std::size_t stride = comm.segment->channel_bytes();
  const auto shared = std::make_shared<Plan>(plan(*comm.segment, requests));
  launch(first, [&comm, shared, requests, in_graph = first.capture != 0] {
    if (!comm.turn.take(*comm.segment)) return;
    if (in_graph) announce(comm, requests);
    number(comm, *shared);
  });
  for (std::size_t i = 0; i < shared->rounds.size(); ++i) {
    for (const Piece& piece : shared->rounds[i].sends)
      copy(first, comm.outgoing + piece.call.peer * stride, piece.memory, piece.bytes);
    const bool is_last = i + 1 == shared->rounds.size();
    launch(first, [&comm, shared, i, is_last] {
      if (go_round(comm, shared->rounds[i]) && is_last) is_received(comm, *shared);
    });
    for (const Piece& piece : shared->rounds[i].receives)
      copy(first, piece.memory, comm.incoming + piece.call.peer * stride, piece.bytes);
  }
  launch(first, [&comm] { comm.turn.give_back(); });
}

// The requests may name several streams. The work goes to the first one; the others come before it and after
// it.
void join_streams(const std::vector<Request>& requests, cudaStream_t stream, bool before) {
  std::vector<cudaStream_t> joined{stream};
  for (const Request& request : requests) {
    if (std::ranges::count(joined, request.stream)) continue;
    joined.push_back(request.stream);
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    check(cudaEventRecord(event, before ? request.stream : stream), "cudaEventRecord");
    check(cudaStreamWaitEvent(before ? stream : request.stream, event, 0), "cudaStreamWaitEvent");
    check(cudaEventDestroy(event), "cudaEventDestroy");
  }
}

// One thread that calls for both ends, outside of a group in common.
ncclResult_t note_threads(ncclComm& comm, const std::vector<Request>& requests, std::uint64_t group) {
  Segment& segment = *comm.segment;
  for (const Request& request : requests) {
    const bool is_send = request.call.kind == Kind::send;
    const int peer = request.call.peer;
    ncclComm::WithPeer& with = comm.with_peer[peer];
    const std::uint64_t operation = is_send ? ++with.sends : ++with.receives;
    const std::string what = fmt::format("send {} from {} to {}", operation, is_send ? segment.rank() : peer,
                                         is_send ? peer : segment.rank());
    if (const ncclResult_t result = note_thread(segment, what, group, request.call); result != ncclSuccess)
      return result;
  }
  return ncclSuccess;
}

} // namespace

ncclResult_t issue_between(const std::vector<Request>& requests, std::uint64_t group) {
  const Request& first = requests.front();
  ncclComm& comm = *first.comm;
  Segment& segment = *comm.segment;
  if (!first.capture) { // else they are announced each time that they are carried out
    segment.note(segment.own().last, requests.back().call);
    if (const ncclResult_t result = note_threads(comm, requests, group); result != ncclSuccess) return result;
    announce(comm, requests);
  }
  try {
    UseDevice use(comm.device);
    begin_work(first);
    join_streams(requests, first.stream, true);
    issue_rounds(requests);
    end_work(first);
    join_streams(requests, first.stream, false);
  } catch (const CudaFailure& failure) {
    return fail(segment, ncclUnhandledCudaError, failure.text + line_of(segment, comm.rank(), first.call));
  }
  return segment.has_failed() ? static_cast<ncclResult_t>(segment.shared().result) : ncclSuccess;
}

} // namespace warpfold::nccl
