// A collective goes in pieces that fit the slots. Of each piece: a copy to the host, a host function that
// puts it into the rank's slot, waits for the others' and combines them, always from rank 0 upwards, and a
// copy back.
#include "arithmetic.hpp"
#include "issue.hpp"
#include "origins.hpp"
#include "telling.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <memory>

namespace warpfold::nccl {

const char* const never_came = "Let every rank make the same calls in the same order. Where one thread calls "
                               "for several ranks, put their calls "
                               "between ncclGroupStart() and ncclGroupEnd().";

namespace {

struct Pieces {
  std::size_t width = 0;   // bytes of an element
  std::size_t largest = 0; // elements
  std::uint64_t count = 0; // pieces

  static Pieces of(const Request& request) {
    const Segment& segment = *request.comm->segment;
    Pieces pieces;
    pieces.width = size_of(request.call.type);
    const std::size_t shares = sends_shares(request.call.kind) ? segment.size() : 1;
    pieces.largest = segment.slot_bytes() / shares / pieces.width;
    pieces.count = (request.call.count + pieces.largest - 1) / pieces.largest;
    return pieces;
  }
};

std::vector<int> others(const Segment& segment) {
  std::vector<int> ranks;
  for (int rank = 0; rank < segment.size(); ++rank)
    if (rank != segment.rank()) ranks.push_back(rank);
  return ranks;
}

ncclResult_t tell_difference(Segment& segment, int rank, const Call& own, const Call& other) {
  const char* what = own.kind != other.kind     ? "collectives"
                     : own.count != other.count ? "counts"
                     : own.type != other.type   ? "types"
                     : own.op != other.op       ? "operators"
                                                : "roots";
  const int first = std::min(rank, segment.rank()), second = std::max(rank, segment.rank());
  const Call &a = first == rank ? other : own, &b = first == rank ? own : other;
  return fail(
      segment, own.kind != other.kind ? ncclInvalidUsage : ncclInvalidArgument,
      fmt::format(
          "rank {} and rank {} meet with different {}{}{}\n  try:  Let every rank make the same calls, in "
          "the same order, with the same count, type, operator and root.",
          first, second, what, line_of(segment, first, a), line_of(segment, second, b)));
}

bool is_same(const Call& a, const Call& b) {
  return a.kind == b.kind && (a.kind == Kind::split ||
                              (a.count == b.count && a.type == b.type && a.op == b.op && a.peer == b.peer));
}

// The root of a broadcast has what it would receive.
bool receives(const Segment& segment, const Call& call) {
  const bool is_root = call.peer == segment.rank();
  return only_root_receives(call.kind) ? is_root : call.kind != Kind::broadcast || !is_root;
}
bool contributes(const Segment& segment, const Call& call) {
  return !only_root_sends(call.kind) || call.peer == segment.rank();
}

// What a rank receives of one piece, when all that it needs lie in the slots: `elements` per share.
void take(ncclComm& comm, const Call& call, std::uint64_t piece, std::size_t elements, std::size_t width) {
  Segment& segment = *comm.segment;
  const int rank = segment.rank(), ranks = segment.size();
  const std::size_t bytes = elements * width;
  const std::size_t share = sends_shares(call.kind) ? rank * bytes : 0; // in another rank's slot
  const auto copy_from = [&](int from, std::byte* to) {
    const std::byte* const sent = segment.slot(from, piece) + share;
    std::memcpy(to, sent, bytes);
    note_copied(segment, call, to, sent, bytes);
  };
  if (only_root_sends(call.kind)) return copy_from(call.peer, comm.incoming);
  if (receives_shares(call.kind)) {
    for (int from = 0; from < ranks; ++from) copy_from(from, comm.incoming + from * bytes);
    return;
  }
  std::vector<const void*> sent;
  for (int from = 0; from < ranks; ++from) sent.push_back(segment.slot(from, piece) + share);
  std::memcpy(comm.incoming, sent[0], bytes);
  for (int from = 1; from < ranks; ++from) combine(call.type, call.op, comm.incoming, sent[from], elements);
  finish(call.type, call.op, ranks, comm.incoming, elements);
  note_combined(segment, call, comm.incoming, sent, elements);
}

// This rank's part of one piece, in a host function.
void exchange(ncclComm& comm, const Call& call, std::size_t elements, std::size_t width) {
  Segment& segment = *comm.segment;
  const std::uint64_t piece = ++comm.pieces;
  Wanted wanted{.ranks = others(segment), .own = call, .advice = never_came};
  wanted.has_called = [](int) { return true; };
  wanted.is_there = [&](int other) { return segment.of(other).taken.load() + 2 >= piece; };
  if (!wait_for(segment, wanted)) return; // what was in this slot is no longer needed
  if (contributes(segment, call)) {
    const std::size_t sent = sends_shares(call.kind) ? segment.size() * elements : elements;
    if (call.op == scaled_sum) scale(call.type, comm.scalar, comm.outgoing, sent);
    std::byte* const slot = segment.slot(segment.rank(), piece);
    std::memcpy(slot, comm.outgoing, sent * width);
    note_copied(segment, call, slot, comm.outgoing, sent * width);
  }
  segment.own().put.store(piece);
  segment.ring();

  if (receives(segment, call)) {
    if (only_root_sends(call.kind)) wanted.ranks = {call.peer};
    wanted.is_there = [&](int other) { return segment.of(other).put.load() >= piece; };
    if (!wait_for(segment, wanted)) return;
    take(comm, call, piece, elements, width);
  }
  segment.own().taken.store(piece);
  segment.ring();
}

// A scalar in memory that the device reaches is read when the collective's turn comes.
void bring_scalar(const Request& request, std::size_t width) {
  ncclComm& comm = *request.comm;
  if (request.scalar.pointer)
    copy(request, comm.scalar, request.scalar.pointer, width);
  else
    launch(request,
           [&comm, value = request.scalar.value] { std::memcpy(comm.scalar, value.data(), value.size()); });
}

// The first of a collective's work. Before any data moves: the ranks must have made the same call, or the
// pieces would not fit each other.
void begin(ncclComm& comm, const Call& call, Sequence sequence, std::uint64_t& number) {
  Segment& segment = *comm.segment;
  if (!comm.turn.take(segment)) return;
  if (sequence == Sequence::in_graphs) {
    if (announce(comm, call, sequence) != ncclSuccess) return;
    number = comm.calls_of(sequence);
  }
  agree(segment, sequence, number, true);
}

void end(ncclComm& comm, Sequence sequence, std::uint64_t number) {
  Segment& segment = *comm.segment;
  segment.own().of(sequence).finished.store(number);
  segment.ring();
  comm.turn.give_back();
}

void issue_pieces(const Request& request) {
  ncclComm& comm = *request.comm;
  Segment& segment = *comm.segment;
  const Call& call = request.call;
  const Pieces pieces = Pieces::of(request);
  const auto* send = static_cast<const std::byte*>(request.send);
  auto* receive = static_cast<std::byte*>(request.receive);
  const std::size_t whole = call.count * pieces.width, ranks = segment.size();

  const Sequence sequence = request.capture ? Sequence::in_graphs : Sequence::called;
  const auto number =
      std::make_shared<std::uint64_t>(comm.calls_of(Sequence::called)); // of a graph: set by begin()
  launch(request, [&comm, call, sequence, number] { begin(comm, call, sequence, *number); });
  if (call.op == scaled_sum) bring_scalar(request, pieces.width);
  for (std::uint64_t i = 0; i < pieces.count; ++i) {
    const std::size_t at = i * pieces.largest * pieces.width;
    const std::size_t elements = std::min<std::uint64_t>(pieces.largest, call.count - i * pieces.largest);
    const std::size_t bytes = elements * pieces.width;
    if (sends_shares(call.kind) && contributes(segment, call))
      for (std::size_t to = 0; to < ranks; ++to)
        copy(request, comm.outgoing + to * bytes, send + to * whole + at, bytes);
    else if (contributes(segment, call))
      copy(request, comm.outgoing, send + at, bytes);
    launch(request, [&comm, call, elements, width = pieces.width] { exchange(comm, call, elements, width); });
    if (!receives(segment, call)) continue;
    if (receives_shares(call.kind))
      for (std::size_t from = 0; from < ranks; ++from)
        copy(request, receive + from * whole + at, comm.incoming + from * bytes, bytes);
    else
      copy(request, receive + at, comm.incoming, bytes);
  }
  if (call.kind == Kind::broadcast && !receives(segment, call) && send != receive && call.count)
    copy(request, receive, send, whole);
  launch(request, [&comm, sequence, number] { end(comm, sequence, *number); });
}

} // namespace

bool agree(Segment& segment, Sequence sequence, std::uint64_t number, bool wait) {
  const auto of = [&](int rank) -> Calls& { return segment.of(rank).of(sequence); };
  const Call own = of(segment.rank()).number(number);
  const auto has_called = [&](int rank) { return of(rank).issued.load() >= number; };
  for (int rank : others(segment)) {
    if (wait) {
      const Wanted wanted{.ranks = others(segment),
                          .is_there = has_called,
                          .has_called = has_called,
                          .own = own,
                          .advice = never_came};
      if (!wait_for(segment, wanted)) return false;
    }
    if (!has_called(rank)) continue;
    const Call other = of(rank).number(number);
    if (is_same(own, other)) continue;
    tell_difference(segment, rank, own, other);
    return false;
  }
  return true;
}

ncclResult_t announce(ncclComm& comm, const Call& call, Sequence sequence) {
  Segment& segment = *comm.segment;
  const std::uint64_t number = ++comm.calls_of(sequence);
  const auto of = [&](int rank) -> Calls& { return segment.of(rank).of(sequence); };
  const Wanted room{.ranks = others(segment),
                    .is_there = [&](int rank) { return of(rank).finished.load() + calls_kept > number; },
                    .has_called = [&](int rank) { return of(rank).issued.load() + calls_kept > number; },
                    .own = call,
                    .advice = never_came};
  if (!wait_for(segment, room)) return static_cast<ncclResult_t>(segment.shared().result);
  Calls& own = of(segment.rank());
  own.kept[number % calls_kept] = call;
  segment.note(segment.own().last, call);
  own.issued.store(number);
  segment.ring();
  return ncclSuccess;
}

ncclResult_t announce_in_group(ncclComm& comm, const Call& call, std::uint64_t group) {
  if (const ncclResult_t result = announce(comm, call, Sequence::called); result != ncclSuccess)
    return result;
  Segment& segment = *comm.segment;
  const std::uint64_t number = comm.calls_of(Sequence::called);
  if (const ncclResult_t result = note_thread(segment, fmt::format("collective {}", number), group, call);
      result != ncclSuccess)
    return result;
  // Where a rank's work is done later, this is the last moment to return an error.
  return agree(segment, Sequence::called, number, false) ? ncclSuccess
                                                         : static_cast<ncclResult_t>(segment.shared().result);
}

ncclResult_t issue_collective(const Request& request, std::uint64_t group) {
  ncclComm& comm = *request.comm;
  if (!request.capture) // else it is announced each time that it is carried out
    if (const ncclResult_t result = announce_in_group(comm, request.call, group); result != ncclSuccess)
      return result;
  try {
    UseDevice use(comm.device);
    begin_work(request);
    issue_pieces(request);
    end_work(request);
  } catch (const CudaFailure& failure) {
    return fail(*comm.segment, ncclUnhandledCudaError,
                failure.text + line_of(*comm.segment, comm.rank(), request.call));
  }
  return comm.segment->has_failed() ? static_cast<ncclResult_t>(comm.segment->shared().result) : ncclSuccess;
}

} // namespace warpfold::nccl
