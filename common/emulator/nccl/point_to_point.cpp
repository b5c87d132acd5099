// Sends and receives. Those of one group go on together, in rounds: in each, one piece goes every way. A send
// is over when its last piece has been taken, so a send without a receive is noticed however small it is.
#include "arithmetic.hpp"
#include "issue.hpp"
#include "telling.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>

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
  std::uint64_t number = 0;    // of all pieces between the two ranks, this way
  std::uint64_t operation = 0; // likewise, of the sends
  bool is_first = false;       // of its operation
};

struct Round {
  std::vector<Piece> sends, receives; // at most one for each peer
};

struct Plan {
  std::vector<Round> rounds;
  std::vector<Piece> last_sent; // to each peer

  void add(std::size_t round, bool is_send, const Piece& piece) {
    if (rounds.size() <= round) rounds.resize(round + 1);
    (is_send ? rounds[round].sends : rounds[round].receives).push_back(piece);
  }
};

Plan plan(ncclComm& comm, const std::vector<Request>& requests) {
  Segment& segment = *comm.segment;
  Plan plan;
  std::map<std::pair<bool, int>, std::size_t> next_round;
  std::map<int, Piece> last;
  for (const Request& request : requests) {
    const bool is_send = request.call.kind == Kind::send;
    const int peer = request.call.peer;
    const std::size_t width = size_of(request.call.type), whole = request.call.count * width;
    const std::size_t largest = segment.channel_bytes() / width * width;
    ncclComm::WithPeer& with = comm.with_peer[peer];
    const std::uint64_t operation = is_send ? ++with.sends : ++with.receives;
    Channel& channel =
        is_send ? segment.channel(segment.rank(), peer) : segment.channel(peer, segment.rank());
    (is_send ? channel.sends_issued : channel.receives_issued).store(operation);
    auto* memory = is_send ? static_cast<std::byte*>(const_cast<void*>(request.send))
                           : static_cast<std::byte*>(request.receive);
    std::size_t at = 0;
    do { // at least one piece, if it be empty
      const std::size_t bytes = std::min(largest, whole - at);
      const Piece piece{.call = request.call,
                        .memory = memory + at,
                        .bytes = bytes,
                        .number = is_send ? ++with.pieces_sent : ++with.pieces_received,
                        .operation = operation,
                        .is_first = at == 0};
      plan.add(next_round[{is_send, peer}]++, is_send, piece);
      if (is_send) last[peer] = piece;
      at += bytes;
    } while (at < whole);
  }
  segment.ring();
  for (const auto& [peer, piece] : last) plan.last_sent.push_back(piece);
  return plan;
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
  std::memcpy(segment.channel_slot(segment.rank(), piece.call.peer), outgoing, piece.bytes);
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
  std::memcpy(incoming, segment.channel_slot(from, segment.rank()), piece.bytes);
  channel.taken.store(piece.number);
  segment.ring();
  return true;
}

void go_round(ncclComm& comm, const Round& round, const std::vector<Piece>& last_sent) {
  Segment& segment = *comm.segment;
  const std::size_t stride = segment.channel_bytes();
  for (const Piece& piece : round.sends)
    if (!put(segment, comm.outgoing + piece.call.peer * stride, piece)) return;
  for (const Piece& piece : round.receives)
    if (!take(segment, comm.incoming + piece.call.peer * stride, piece)) return;
  for (const Piece& piece : last_sent) {
    Channel& channel = segment.channel(segment.rank(), piece.call.peer);
    if (!wait_for_peer(segment, piece, channel.taken, piece.number, channel.receives_issued)) return;
  }
}

void issue_rounds(ncclComm& comm, const Plan& plan, cudaStream_t stream) {
  const std::size_t stride = comm.segment->channel_bytes();
  for (std::size_t i = 0; i < plan.rounds.size(); ++i) {
    const Round& round = plan.rounds[i];
    for (const Piece& piece : round.sends)
      copy(comm, comm.outgoing + piece.call.peer * stride, piece.memory, piece.bytes, stream);
    const bool is_last = i + 1 == plan.rounds.size();
    launch(comm, stream, [&comm, round, last_sent = is_last ? plan.last_sent : std::vector<Piece>()] {
      go_round(comm, round, last_sent);
    });
    for (const Piece& piece : round.receives)
      copy(comm, piece.memory, comm.incoming + piece.call.peer * stride, piece.bytes, stream);
  }
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
  std::map<std::pair<bool, int>, std::uint64_t> more;
  for (const Request& request : requests) {
    const bool is_send = request.call.kind == Kind::send;
    const int peer = request.call.peer;
    const ncclComm::WithPeer& with = comm.with_peer[peer];
    const std::uint64_t operation = (is_send ? with.sends : with.receives) + ++more[{is_send, peer}];
    const std::string what = fmt::format("send {} from {} to {}", operation, is_send ? segment.rank() : peer,
                                         is_send ? peer : segment.rank());
    if (const ncclResult_t result = note_thread(segment, what, group, request.call); result != ncclSuccess)
      return result;
  }
  return ncclSuccess;
}

} // namespace

ncclResult_t issue_between(const std::vector<Request>& requests, std::uint64_t group) {
  ncclComm& comm = *requests.front().comm;
  Segment& segment = *comm.segment;
  segment.note(segment.own().last, requests.back().call);
  if (const ncclResult_t result = note_threads(comm, requests, group); result != ncclSuccess) return result;
  try {
    UseDevice use(comm.device);
    const cudaStream_t stream = requests.front().stream;
    begin_work(comm, stream);
    join_streams(requests, stream, true);
    issue_rounds(comm, plan(comm, requests), stream);
    end_work(comm, stream);
    join_streams(requests, stream, false);
  } catch (const CudaFailure& failure) {
    return fail(segment, ncclUnhandledCudaError,
                failure.text + line_of(segment, comm.rank(), requests.front().call));
  }
  return segment.has_failed() ? static_cast<ncclResult_t>(segment.shared().result) : ncclSuccess;
}

} // namespace warpfold::nccl
