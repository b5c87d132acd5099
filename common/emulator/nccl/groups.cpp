#include "groups.hpp"

#include "telling.hpp"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace warpfold::nccl {
namespace {

constexpr const char* one_thread = "Let every rank call it, with the id of one ncclGetUniqueId. Where one "
                                   "thread joins with several ranks, put the calls "
                                   "between ncclGroupStart() and ncclGroupEnd().";

struct Group {
  int depth = 0;
  CallSite start;
  ncclResult_t error = ncclSuccess;
  std::vector<Joining> joining;
  std::vector<Splitting> splitting;
  std::vector<Request> requests;

  // Of a group that has begun and not ended; "" if there is none.
  std::string without_end() const {
    if (depth == 0) return "";
    constexpr std::size_t most_shown = 4;
    const std::size_t calls = joining.size() + splitting.size() + requests.size();
    std::string said =
        fmt::format("ncclGroupStart without ncclGroupEnd: {} call{} in the group {} never made\n  {}: the "
                    "group begins",
                    calls, calls == 1 ? "" : "s", calls == 1 ? "was" : "were", text(start));
    std::size_t shown = 0;
    for (const Request& request : requests)
      if (live(request.comm) && ++shown <= most_shown)
        said += line_of(*request.comm->segment, request.comm->rank(), request.call);
    if (shown > most_shown) said += fmt::format("\n  and {} more", shown - most_shown);
    return said + "\n  try:  Call ncclGroupEnd() after the last call of the group.";
  }
  // The thread ends, or the program.
  ~Group() {
    if (depth > 0) refuse(ncclInvalidUsage, without_end());
  }
};
thread_local Group group;

std::uint64_t new_group() {
  static std::atomic<std::uint64_t> count = 0;
  return ++count;
}

void note_in_group(const Request& request, bool is_in) {
  Segment& segment = *request.comm->segment;
  if (is_in) segment.note(segment.own().in_group, request.call);
  segment.own().calls_in_group.fetch_add(is_in ? 1 : -1);
}

std::atomic<unsigned long long> calls = 0, results = 0;

bool is_between(const Request& request) {
  return request.call.kind == Kind::send || request.call.kind == Kind::receive;
}

// Those of a collective for all ranks are counted by the first one.
unsigned long long results_of(const Request& request) {
  const Kind kind = request.call.kind;
  if (is_between(request)) return kind == Kind::receive ? 1 : 0;
  if (only_root_receives(kind)) return request.call.peer == request.comm->rank() ? 1 : 0;
  return request.comm->rank() == 0 ? static_cast<unsigned long long>(request.comm->size()) : 0;
}

// The n-th collective of every communicator before the (n+1)-th of any, since a rank can be ahead only so
// far; and the communicators in the same order on all ranks, since a rank may wait in the call.
ncclResult_t issue(const std::vector<Request>& requests) {
  calls += requests.size();
  for (const Request& request : requests) results += results_of(request);
  const std::uint64_t number = new_group();
  struct Place {
    Request request;
    std::size_t turn;
  };
  std::vector<Place> collectives;
  std::map<ncclComm*, std::size_t> turns;
  std::vector<std::vector<Request>> between;
  for (const Request& request : requests) {
    if (!is_between(request)) {
      collectives.push_back({request, turns[request.comm]++});
      continue;
    }
    const auto found = std::ranges::find(between, request.comm,
                                         [](const std::vector<Request>& of) { return of.front().comm; });
    if (found == between.end())
      between.push_back({request});
    else
      found->push_back(request);
  }
  const auto name = [](const Request& request) { return request.comm->segment->name(); };
  std::ranges::stable_sort(collectives, [&](const Place& a, const Place& b) {
    return std::pair(a.turn, name(a.request)) < std::pair(b.turn, name(b.request));
  });
  std::ranges::stable_sort(between, {}, [&](const std::vector<Request>& of) { return name(of.front()); });

  ncclResult_t result = ncclSuccess;
  const auto keep = [&](ncclResult_t one) {
    if (result == ncclSuccess) result = one;
  };
  for (const Place& place : collectives) keep(issue_collective(place.request, number));
  for (const std::vector<Request>& of : between) keep(issue_between(of, number));
  return result;
}

} // namespace

unsigned long long calls_so_far() {
  return calls;
}

unsigned long long results_so_far() {
  return results;
}

const char* group_without_end() {
  static thread_local std::string said;
  said = group.without_end();
  return said.c_str();
}

bool in_group() {
  return group.depth > 0;
}

ncclResult_t start_group() {
  if (group.depth++ == 0) group.start = call_site();
  return ncclSuccess;
}

ncclResult_t group_result(ncclResult_t result) {
  if (in_group() && group.error == ncclSuccess) group.error = result;
  return result;
}

ncclResult_t end_group() {
  if (group.depth == 0)
    return refuse(ncclInvalidUsage,
                  fmt::format("ncclGroupEnd without ncclGroupStart\n  {}: called here", text(call_site())));
  if (--group.depth > 0) return ncclSuccess;
  std::vector<Joining> joining;
  std::vector<Splitting> splitting;
  std::vector<Request> requests;
  std::swap(joining, group.joining);
  std::swap(splitting, group.splitting);
  std::swap(requests, group.requests);
  for (const Request& request : requests) note_in_group(request, false);
  if (const ncclResult_t error = std::exchange(group.error, ncclSuccess); error != ncclSuccess) return error;
  if (!joining.empty())
    if (const ncclResult_t result = join(joining, one_thread); result != ncclSuccess) return result;
  if (!splitting.empty())
    if (const ncclResult_t result = split(splitting, new_group()); result != ncclSuccess) return result;
  return issue(requests);
}

ncclResult_t add(const Request& request) {
  if (!in_group()) return issue({request});
  note_in_group(request, true);
  group.requests.push_back(request);
  return ncclSuccess;
}

ncclResult_t add(const Joining& joining) {
  if (in_group()) {
    group.joining.push_back(joining);
    return ncclSuccess;
  }
  std::vector<Joining> one{joining};
  return join(one, one_thread);
}

ncclResult_t add(const Splitting& splitting) {
  if (!in_group()) return split({splitting}, new_group());
  group.splitting.push_back(splitting);
  return ncclSuccess;
}

bool has_calls_in_group(const ncclComm* comm) {
  return std::ranges::count(group.requests, comm, [](const Request& each) { return each.comm; }) > 0;
}

} // namespace warpfold::nccl
