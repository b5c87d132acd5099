#include "communicator.hpp"

#include "patience.hpp"
#include "registered_buffers.hpp"
#include "telling.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <map>
#include <set>
#include <stdexcept>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace warpfold::nccl {
namespace {

std::mutex& registry_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
std::set<ncclComm*>& registry() {
  static auto& comms = *new std::set<ncclComm*>;
  return comms;
}

Call call_from(Segment& segment, const CallSite& site) {
  Call call;
  segment.keep(call, site);
  return call;
}

// The rank's place in the segment, filled in. An error if another took it, or if the ranks disagree on
// the size.
ncclResult_t arrive(Segment& segment, int device, const CallSite& site) {
  Shared& shared = segment.shared();
  std::uint32_t size = 0;
  const std::uint32_t own_size = segment.size();
  if (!shared.size.compare_exchange_strong(size, own_size) && size != own_size)
    return fail(segment, ncclInvalidArgument,
                fmt::format("rank {} joins a communicator of {} ranks that another rank joined as one of "
                            "{}\n  {}: called here",
                            segment.rank(), own_size, size, text(site)));
  Rank& own = segment.own();
  auto absent = static_cast<std::uint32_t>(Presence::absent);
  if (!own.presence.compare_exchange_strong(absent, static_cast<std::uint32_t>(Presence::arriving)))
    return fail(segment, ncclInvalidArgument,
                fmt::format("two ranks join a communicator of {} as rank {}\n  {}: the second one", own_size,
                            segment.rank(), text(site)));
  own.pid = getpid();
  struct stat names {};
  own.pid_namespace = stat("/proc/self/ns/pid", &names) == 0 ? names.st_ino : 0;
  own.device = device;
  check(cudaGetDeviceCount(&own.devices_seen), "cudaGetDeviceCount");
  check(cudaDeviceGetPCIBusId(own.bus_address, sizeof own.bus_address, device), "cudaDeviceGetPCIBusId");
  segment.note(own.arrival, call_from(segment, site));
  own.presence.store(static_cast<std::uint32_t>(Presence::here));
  segment.ring();
  return ncclSuccess;
}

// Two ranks need two devices. A process that sees only one may have one of its own, as on the emulator each
// has.
ncclResult_t check_devices(Segment& segment) {
  for (int a = 0; a < segment.size(); ++a)
    for (int b = a + 1; b < segment.size(); ++b) {
      const Rank &one = segment.of(a), &other = segment.of(b);
      if (std::strcmp(one.bus_address, other.bus_address) != 0) continue;
      const bool same_process = one.pid == other.pid && one.pid_namespace == other.pid_namespace;
      if (!same_process && (one.devices_seen == 1 || other.devices_seen == 1)) continue;
      std::string text =
          fmt::format("rank {} and rank {} both use device {} ({}): each rank needs a device of its own", a,
                      b, one.device, one.bus_address);
      for (int rank : {a, b}) {
        const Call arrival = segment.noted(segment.of(rank).arrival);
        text += fmt::format("\n  {}: rank {} joins", place_of(segment, rank, arrival), rank);
      }
      text += "\n  try:  Call cudaSetDevice with another device for each rank, before ncclCommInitRank.";
      return fail(segment, ncclInvalidUsage, text);
    }
  return ncclSuccess;
}

// Pinned memory, which is used again, and freed with the process's last communicator: to free it is to wait
// for the devices, and so perhaps for ranks that wait for this one.
class Staging {
public:
  static Staging& get() {
    static Staging& staging = *new Staging;
    return staging;
  }
  std::byte* take(std::size_t bytes) {
    {
      std::lock_guard lock(mutex_);
      if (const auto found = unused_.lower_bound(bytes); found != unused_.end()) {
        std::byte* const memory = found->second;
        unused_.erase(found);
        return memory;
      }
    }
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    std::lock_guard lock(mutex_);
    sizes_[static_cast<std::byte*>(memory)] = bytes;
    return static_cast<std::byte*>(memory);
  }
  void give_back(std::byte* memory) {
    std::lock_guard lock(mutex_);
    if (memory) unused_.emplace(sizes_.at(memory), memory);
  }
  void free_unused() {
    std::multimap<std::size_t, std::byte*> unused;
    {
      std::lock_guard lock(mutex_);
      std::swap(unused, unused_);
      for (const auto& [bytes, memory] : unused) sizes_.erase(memory);
    }
    for (const auto& [bytes, memory] : unused) cudaFreeHost(memory);
  }

private:
  std::mutex mutex_;
  std::map<std::byte*, std::size_t> sizes_;
  std::multimap<std::size_t, std::byte*> unused_;
};

void allocate(ncclComm& comm) {
  static std::atomic<std::uint64_t> communicators = 0;
  comm.id = ++communicators;
  Segment& segment = *comm.segment;
  UseDevice use(comm.device);
  const std::size_t ranks = segment.size(), between = ranks * segment.channel_bytes();
  const std::size_t outgoing = std::max(segment.slot_bytes(), between);
  comm.outgoing = Staging::get().take(outgoing + sizeof(Scalar::value));
  comm.scalar = comm.outgoing + outgoing;
  comm.incoming = Staging::get().take(std::max(ranks * segment.slot_bytes(), between));
  check(cudaEventCreateWithFlags(&comm.last, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  check(cudaEventCreateWithFlags(&comm.last_captured, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  comm.with_peer.resize(ranks);
}

void release(ncclComm& comm) {
  for (const cudaEvent_t event : {comm.last, comm.last_captured})
    if (event) cudaEventDestroy(event);
  Staging::get().give_back(comm.outgoing);
  Staging::get().give_back(comm.incoming);
  bool is_last = false;
  {
    std::lock_guard lock(registry_mutex());
    is_last = registry().empty();
  }
  if (is_last) Staging::get().free_unused();
}

std::atomic<unsigned long long> communicators = 0;

ncclResult_t join_or_throw(std::vector<Joining>& all, std::vector<std::unique_ptr<ncclComm>>& made,
                           const std::string& advice) {
  ncclResult_t result = ncclSuccess;
  for (Joining& one : all) {
    auto comm = std::make_unique<ncclComm>();
    comm->segment = std::make_unique<Segment>(one.segment, one.size, one.rank);
    comm->device = one.device;
    made.push_back(std::move(comm));
    if (result = arrive(*made.back()->segment, one.device, one.site); result != ncclSuccess) return result;
    allocate(*made.back());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Segment& segment = *made[i]->segment;
    if (!wait_for_arrival(segment, call_from(segment, all[i].site), advice)) {
      set_last_text(segment.shared().text); // perhaps another rank has said it: the reason here, too
      return static_cast<ncclResult_t>(segment.shared().result);
    }
    segment.unlink(); // every rank has it
    if (result = check_devices(segment); result != ncclSuccess) return result;
  }
  return ncclSuccess;
}

} // namespace

UseDevice::UseDevice(int device) {
  cudaGetDevice(&before_);
  if (device != before_) check(cudaSetDevice(device), "cudaSetDevice");
}
UseDevice::~UseDevice() {
  cudaSetDevice(before_);
}

bool Turn::take(Segment& segment) {
  constexpr std::chrono::milliseconds between_looks{100};
  std::unique_lock lock(mutex_);
  while (is_taken_ && !segment.has_failed()) changed_.wait_for(lock, between_looks);
  if (is_taken_) return false;
  is_taken_ = true;
  return true;
}

void Turn::give_back() {
  {
    std::lock_guard lock(mutex_);
    is_taken_ = false;
  }
  changed_.notify_one();
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  // The emulator knows more than the error's name, and tells any program that asks.
  using Refusal = const char* (*)(const char** call, const char** file, unsigned* line);
  static const auto refusal = reinterpret_cast<Refusal>(dlsym(RTLD_DEFAULT, "warpfold_emulator_refusal"));
  const char *call = "", *file = nullptr;
  unsigned line = 0;
  const std::string why = refusal ? refusal(&call, &file, &line) : "";
  throw CudaFailure{fmt::format("{} fails: {}", what, why.empty() ? cudaGetErrorString(error) : why)};
}

ncclComm* live(ncclComm_t comm) {
  std::lock_guard lock(registry_mutex());
  return registry().contains(comm) ? comm : nullptr;
}

unsigned long long communicators_so_far() {
  return communicators;
}

ncclResult_t join(std::vector<Joining>& all, const std::string& advice) {
  communicators += all.size();
  time_limit(); // complains of a limit that is no number, whether or not anybody has to wait that long
  std::vector<std::unique_ptr<ncclComm>> made;
  ncclResult_t result = ncclSuccess;
  try {
    result = join_or_throw(all, made, advice);
  } catch (const CudaFailure& failure) {
    result = fail(*made.back()->segment, ncclUnhandledCudaError, failure.text);
  } catch (const std::runtime_error& error) {
    result = refuse(ncclSystemError, error.what());
  }
  if (result != ncclSuccess) {
    note_failed_join();
    for (auto& comm : made) {
      comm->segment->unlink();
      release(*comm);
    }
    return result;
  }
  note_join();
  std::lock_guard lock(registry_mutex());
  for (std::size_t i = 0; i < all.size(); ++i) {
    registry().insert(made[i].get());
    *all[i].made = made[i].release();
  }
  return ncclSuccess;
}

ncclResult_t finalize(ncclComm* comm) {
  if (comm->has_work) {
    UseDevice use(comm->device);
    check(cudaEventSynchronize(comm->last), "cudaEventSynchronize");
  }
  comm->is_finalized = true;
  Segment& segment = *comm->segment;
  return segment.has_failed() ? static_cast<ncclResult_t>(segment.shared().result) : ncclSuccess;
}

ncclResult_t leave(ncclComm* comm, const CallSite& site, bool at_once) {
  Segment& segment = *comm->segment;
  const Call call = call_from(segment, site);
  if (at_once) // for ranks that wait, or come later, in this process or elsewhere
    fail(segment, ncclRemoteError,
         fmt::format("rank {} aborts the communicator\n  {}: called here", comm->rank(), text(site)));
  ncclResult_t result = ncclSuccess;
  bool is_done = true;
  try {
    result = finalize(comm);
  } catch (const CudaFailure& failure) { // the device may have failed; the other ranks must know all the same
    result = refuse(ncclUnhandledCudaError, failure.text);
    is_done = false;
  }
  segment.note(segment.own().leave, call);
  segment.own().presence.store(static_cast<std::uint32_t>(Presence::left));
  segment.ring();
  {
    std::lock_guard lock(registry_mutex());
    registry().erase(comm);
  }
  deregister_all(comm);
  if (is_done) { // else a host function may still have it
    release(*comm);
    delete comm;
  }
  return at_once ? ncclSuccess : result;
}

ncclResult_t note_thread(Segment& segment, std::string what, std::uint64_t group, const Call& call) {
  struct Noted {
    std::uint64_t thread;
    std::uint64_t group;
    int rank;
    Call call;
  };
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<std::pair<std::string, std::string>, Noted>;
  // The system's own numbers are used again when a thread has ended.
  static std::atomic<std::uint64_t> threads = 0;
  thread_local const std::uint64_t this_thread = ++threads;
  Noted earlier{};
  {
    std::lock_guard lock(mutex);
    if (all.size() > 4096) all.clear(); // old ones: what waits for each other is called close together
    const auto [found, is_new] =
        all.try_emplace({segment.name(), std::move(what)}, Noted{this_thread, group, segment.rank(), call});
    if (is_new || found->second.thread != this_thread || found->second.group == group ||
        found->second.rank == segment.rank())
      return ncclSuccess;
    earlier = found->second;
  }
  return fail(
      segment, ncclInvalidUsage,
      fmt::format(
          "a group was forgotten: one thread calls for rank {} and for rank {}, and on GPUs the first call "
          "may wait for the second for ever{}{}\n  try:  Put the calls of all ranks of a thread between "
          "ncclGroupStart() and ncclGroupEnd().",
          earlier.rank, segment.rank(), line_of(segment, earlier.rank, earlier.call),
          line_of(segment, segment.rank(), call)));
}

} // namespace warpfold::nccl
