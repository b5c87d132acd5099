// ncclCommSplit: a call of all ranks of a communicator, on the host alone.
#include "splitting.hpp"
#include "issue.hpp"
#include "telling.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace warpfold::nccl {
namespace {

struct Member {
  int color, key, rank;
};

// What all ranks said, once they have.
std::vector<Member> members(Segment& parent, std::uint64_t number) {
  std::vector<Member> all;
  for (int rank = 0; rank < parent.size(); ++rank) {
    const Call& call = parent.of(rank).of(Sequence::called).number(number);
    all.push_back({call.peer, call.key, rank});
  }
  parent.own().of(Sequence::called).finished.store(number);
  parent.ring();
  return all;
}

// Its ranks in the new order.
std::vector<Member> of_color(std::vector<Member> all, int color) {
  std::erase_if(all, [&](const Member& each) { return each.color != color; });
  std::ranges::sort(all, {}, [](const Member& each) { return std::tuple(each.key, each.rank); });
  return all;
}

} // namespace

ncclResult_t split(const std::vector<Splitting>& all, std::uint64_t group) {
  std::vector<std::uint64_t> numbers;
  for (const Splitting& one : all) {
    Call call{.kind = Kind::split, .peer = one.color, .key = one.key};
    one.parent->segment->keep(call, one.site);
    if (const ncclResult_t result = announce_in_group(*one.parent, call, group); result != ncclSuccess)
      return result;
    numbers.push_back(one.parent->calls_of(Sequence::called));
  }
  std::vector<Joining> joining;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Splitting& one = all[i];
    Segment& parent = *one.parent->segment;
    // Its collectives are done first, since `finished` counts them in order.
    if (one.parent->has_work) check(cudaEventSynchronize(one.parent->last), "cudaEventSynchronize");
    if (!agree(parent, Sequence::called, numbers[i], true))
      return static_cast<ncclResult_t>(parent.shared().result);
    const std::vector<Member> together = of_color(members(parent, numbers[i]), one.color);
    *one.made = nullptr;
    if (one.color == NCCL_SPLIT_NOCOLOR) continue;
    const auto own = std::ranges::find(together, parent.rank(), &Member::rank);
    joining.push_back({.made = one.made,
                       .size = static_cast<int>(together.size()),
                       .rank = static_cast<int>(own - together.begin()),
                       .device = one.parent->device,
                       .segment = fmt::format("{}-{}-{}", parent.name(), numbers[i], one.color),
                       .site = one.site});
  }
  return join(joining, never_came);
}

} // namespace warpfold::nccl
