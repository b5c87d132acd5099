#include "telling.hpp"

#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <iterator>
#include <mutex>
#include <set>

namespace warpfold::nccl {
namespace {

constexpr const char* types[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                 "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
constexpr const char* operators[] = {"ncclSum", "ncclProd", "ncclMax", "ncclMin", "ncclAvg", "a scaled sum"};

std::mutex& text_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
const char *said_last = "", *said_of_joining = "";
bool is_quiet = false;

// Whether this text has not been printed yet. Another rank of this process may know it already, and prints
// nothing.
bool is_to_be_printed(const std::string& text) {
  static auto& printed = *new std::set<std::string>;
  std::lock_guard lock(text_mutex());
  return printed.insert(text).second && !is_quiet;
}

} // namespace

void set_last_text(const std::string& text) {
  static auto& all = *new std::set<std::string>; // a caller may hold on to what it was given
  std::lock_guard lock(text_mutex());
  said_last = all.insert(text).first->c_str();
}

void keep_quiet() {
  is_quiet = true;
}

const char* last_text() {
  std::lock_guard lock(text_mutex());
  return said_last;
}

void note_failed_join() {
  std::lock_guard lock(text_mutex());
  if (*said_of_joining == '\0') said_of_joining = said_last;
}

void note_join() {
  std::lock_guard lock(text_mutex());
  said_of_joining = "";
}

std::string why_joining_failed() {
  std::lock_guard lock(text_mutex());
  return said_of_joining;
}

ncclResult_t refuse(ncclResult_t result, const std::string& text) {
  using Fault = void (*)(const char* message);
  static const auto fault = reinterpret_cast<Fault>(dlsym(RTLD_DEFAULT, "warpfold_emulator_fault"));
  // A program that goes on makes the same mistake for each device, and each time.
  set_last_text(text);
  if (is_to_be_printed(text)) fmt::print(stderr, "nccl: {}\n", text);
  if (fault) fault(text.substr(0, text.find("\n  try:")).c_str());
  return result;
}

ncclResult_t fail(Segment& segment, ncclResult_t result, const std::string& text) {
  Shared& shared = segment.shared();
  std::uint32_t none = 0;
  if (shared.has_failed.compare_exchange_strong(none, 1)) {
    shared.result = result;
    std::strncpy(shared.text, text.c_str(), sizeof shared.text - 1);
    shared.has_failed.store(2);
    segment.ring();
    return refuse(result, text);
  }
  while (!segment.has_failed()) segment.wait_for_bell(shared.bell.load());
  set_last_text(shared.text); // another rank has printed it
  return static_cast<ncclResult_t>(shared.result);
}

const char* name_of(Kind kind) {
  switch (kind) {
  case Kind::reduce:
    return "ncclReduce";
  case Kind::all_reduce:
    return "ncclAllReduce";
  case Kind::broadcast:
    return "ncclBroadcast";
  case Kind::reduce_scatter:
    return "ncclReduceScatter";
  case Kind::all_gather:
    return "ncclAllGather";
  case Kind::gather:
    return "ncclGather";
  case Kind::scatter:
    return "ncclScatter";
  case Kind::all_to_all:
    return "ncclAlltoAll";
  case Kind::split:
    return "ncclCommSplit";
  case Kind::send:
    return "ncclSend";
  case Kind::receive:
    return "ncclRecv";
  default:
    return "nothing";
  }
}

std::string text(const Call& call) {
  if (call.kind == Kind::split) return fmt::format("ncclCommSplit(color {}, key {})", call.peer, call.key);
  std::string text =
      fmt::format("{}({} of {}", name_of(call.kind), call.count,
                  call.type >= 0 && call.type < static_cast<int>(std::size(types)) ? types[call.type] : "?");
  if (call.op >= 0 && call.op < static_cast<int>(std::size(operators)))
    text += fmt::format(", {}", operators[call.op]);
  if (call.kind == Kind::send)
    text += fmt::format(", to rank {}", call.peer);
  else if (call.kind == Kind::receive)
    text += fmt::format(", from rank {}", call.peer);
  else if (call.peer >= 0)
    text += fmt::format(", root {}", call.peer);
  return text + ")";
}

std::string place_of(Segment& segment, int rank, const Call& call) {
  return text(segment.site(rank, call));
}

std::string line_of(Segment& segment, int rank, const Call& call) {
  return fmt::format("\n  {}: rank {} calls {}", place_of(segment, rank, call), rank, text(call));
}

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  std::string text = "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  return text;
}

} // namespace warpfold::nccl
